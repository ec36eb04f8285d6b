"""The fees of a month: recorded, computed again, and held against the provider's invoice."""
