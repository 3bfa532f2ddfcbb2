"""The report: one run of a replay as one HTML file that needs no network."""
