"""The value of coins, the cost of gas, and the amount of our money that the provider holds."""
