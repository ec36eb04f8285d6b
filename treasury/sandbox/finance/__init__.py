"""The finance service of the sandbox: its operations, and the platform's automatic actions."""
