"""Requests and answers of the API as pydantic models; unknown fields are errors."""
