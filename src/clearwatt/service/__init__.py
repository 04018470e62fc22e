"""The service: forecasts that never stop while models learn."""
