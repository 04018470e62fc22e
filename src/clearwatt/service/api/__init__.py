"""The HTTP API: routes, the schemas of requests and answers, and who may call what."""
