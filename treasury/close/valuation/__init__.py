"""What coins are worth, what gas cost, and how much of our money the provider holds."""
