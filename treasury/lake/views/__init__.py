"""Questions about stored history, and the file through which other programs read the lake."""
