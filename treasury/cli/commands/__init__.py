"""The verbs of the command line, one module per subject."""
