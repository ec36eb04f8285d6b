"""The workspace's health, inbox, watch, copies of a shared lake, and dictionary."""
