"""The steps that tell what a close settles, and what of it a later question takes up again."""
