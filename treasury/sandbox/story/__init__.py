"""The practice company and what happens to it, at the services and at its banks."""
