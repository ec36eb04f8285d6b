"""The sandbox's server: routes, tokens, faults, control plane, OpenAPI documents."""
