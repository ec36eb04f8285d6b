"""What notifications say of movements that a statement books: payments of a total, and texts."""
