"""Money with the provider: at a given time, by day, at its peak, and compared with its limits."""
