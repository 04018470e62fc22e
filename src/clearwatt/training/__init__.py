"""Training: stacked networks, the fleet that trains them, and streams of training jobs."""
