"""The fees of a month: recorded, calculated again, and compared with the provider's invoice."""
