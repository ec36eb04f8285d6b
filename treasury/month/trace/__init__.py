"""One payment from end to end: each hop with its evidence, or with the evidence that is missing."""
