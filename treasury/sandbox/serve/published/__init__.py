"""The OpenAPI documents of both services, and their page."""
