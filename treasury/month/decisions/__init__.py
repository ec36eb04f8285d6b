"""People's decisions on bank lines, requests and rules: checks, and journaling."""
