"""`scaleproof verify`: a recorded period computed again and compared with what was served and what the HPA did."""
