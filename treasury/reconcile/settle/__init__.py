"""The steps that tell what is settled of closed months, and what of it is taken up again."""
