-- One row per distinct first character of a known code.
SELECT DISTINCT substr(head, 1, 1) AS initial
FROM code_heads
