"""SQL of the cash position."""
