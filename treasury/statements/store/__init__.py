"""From read statements to the lake: each proved, joined to those before, and merged once."""
