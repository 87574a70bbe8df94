"""The HTTP API: routes, request and response bodies, limits, security."""
