"""Reads `policy.toml`: who may propose and approve which actions, up to which amount."""
