-- One row per account of the company, which is every account that has lines.
SELECT DISTINCT account FROM lines
