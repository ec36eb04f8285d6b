"""Storage of statements: each is proved, compared with those before it, and merged."""
