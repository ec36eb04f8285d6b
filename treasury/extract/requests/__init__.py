"""Ramp requests: the list page by page, then the detail of each request that may have changed."""
