-- The company's own accounts: those that have lines.
SELECT DISTINCT account FROM lines
