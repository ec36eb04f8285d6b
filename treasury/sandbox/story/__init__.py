"""The practice company's story: its events at the services and at its banks."""
