"""Server of the sandbox: routes, tokens, faults, control plane, OpenAPI documents."""
