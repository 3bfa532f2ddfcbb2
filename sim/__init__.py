"""The simulator: replays traces through the same core and an exact HorizontalPodAutoscaler."""
