"""The SQL steps that find movements of money between the company and the provider."""
