"""What the workspace offers beside the month: health, dictionary, statements, people's verbs."""
