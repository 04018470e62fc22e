"""The addresses of the API; each route parses, calls and answers."""
