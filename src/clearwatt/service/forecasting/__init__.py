"""Forecasts by the deployed models, or by a fallback that says so."""
