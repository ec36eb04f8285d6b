"""What every handler of the sandbox shares: an exchange, its body, lists, keys, limits."""
