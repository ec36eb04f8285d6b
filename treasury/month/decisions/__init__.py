"""What people decide on lines, requests and rules: checked on what is known, then journaled."""
