"""What stands with the provider: at an instant, by day, at its most, and against its limits."""
