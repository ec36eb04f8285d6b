"""The ramp service of the sandbox: its operations, and what the platform does by itself."""
