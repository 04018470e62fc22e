"""What goes in and out over HTTP, as pydantic models; unknown fields are errors."""
