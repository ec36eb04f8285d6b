"""Files that others may write, edit or damage: read safely, written completely."""
