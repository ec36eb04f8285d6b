"""The two steps of each decision, without a screen."""
