"""Payment status reports (pain.002), the answers of banks to payment files."""
