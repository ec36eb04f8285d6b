-- One row per line, code too generic to prove anything, and label directly before it, with the text around both.
SELECT n.entry_id, n.code, s.field, b.is_weak,
    trim(split_part(s.stream, ' ' || b.label || ' ' || n.code || ' ', 1)) AS before,
    split_part(s.stream, ' ' || b.label || ' ' || n.code || ' ', 2) AS behind
FROM (
    SELECT DISTINCT a.entry_id, a.code
    FROM inexact_pairs AS a
    JOIN unlikely_codes AS k ON k.code = a.code
) AS n
JOIN label_streams AS s ON s.entry_id = n.entry_id
CROSS JOIN labels AS b
WHERE contains(s.stream, ' ' || b.label || ' ' || n.code || ' ')
