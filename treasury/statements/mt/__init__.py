"""Bank statements in MT940 and MT942, in the various dialects of banks."""
