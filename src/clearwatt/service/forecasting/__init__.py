"""Forecasts by the deployed models, or by a fallback marked as such."""
