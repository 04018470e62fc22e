"""Routes of the API: each parses a request, calls the service and builds the answer."""
