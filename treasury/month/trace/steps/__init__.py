"""The steps by which a payment is looked up, over those of a month."""
