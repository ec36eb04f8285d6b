"""What closed months settled: told from a run over everything, kept, and left out later."""
