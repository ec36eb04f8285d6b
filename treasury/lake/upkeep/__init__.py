"""The lake on disk: checks, repair and storage status."""
