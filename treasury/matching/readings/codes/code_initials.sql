-- The characters that codes begin with.
SELECT DISTINCT substr(head, 1, 1) AS initial
FROM code_heads
