"""Comparing approaches: the paper's metrics and what operators feel."""
