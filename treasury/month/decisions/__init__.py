"""People's decisions on lines, requests and rules: checked against the records, then journaled."""
