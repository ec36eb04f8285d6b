"""Ramp requests: the list page by page, then the detail of each that may have moved."""
