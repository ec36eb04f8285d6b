"""The workspace's health, its inbox and watch, its copies of a shared lake, its dictionary."""
