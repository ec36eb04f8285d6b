"""Storage of statements in the lake: proof, comparison, merge and withdrawal."""
