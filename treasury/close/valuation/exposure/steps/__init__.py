"""The SQL steps for the movements between the company and the provider."""
