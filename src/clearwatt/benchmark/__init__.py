"""Comparison with common forecasting methods (peers), on the same data with the same delay."""
