"""The dashboard: pages rendered on the server, updated by JavaScript through the same API."""
