"""What moved between the company and the provider, as named SQL steps."""
