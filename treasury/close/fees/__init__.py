"""The fees of a month: recorded, recalculated, and compared with the provider's invoice."""
