"""Who may propose and approve which actions, up to which amount: `policy.toml`."""
