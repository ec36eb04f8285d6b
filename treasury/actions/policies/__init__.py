"""Who may propose and approve what, up to which amount: `policy.toml`."""
