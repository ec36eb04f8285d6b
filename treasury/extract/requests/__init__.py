"""Syncs ramp requests: reads the list, then the detail of each request that may have changed."""
