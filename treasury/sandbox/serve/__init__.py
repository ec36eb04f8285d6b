"""The sandbox as a server: routes, tokens, faults, control plane, published documents."""
