"""The two steps of a decision, without a screen."""
