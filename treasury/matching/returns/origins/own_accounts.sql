-- One row per account of the company, that is, per account with lines.
SELECT DISTINCT account FROM lines
