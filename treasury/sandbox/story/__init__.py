"""The practice company's story: what happened at the services and at its banks."""
