"""The ramp service of the sandbox: its operations, and the platform's automatic actions."""
