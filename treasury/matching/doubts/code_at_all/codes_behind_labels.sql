-- One row per combination of a line's field, a code in it that alone is no proof (`unlikely_codes`), and a label
-- directly before the code (such as INVOICE). `before` is the text before the label, `behind` the text after the
-- code. `is_weak`: banks use the label, too (rule `weak_labels`).
SELECT n.entry_id, n.code, n.field, b.is_weak,
    trim(split_part(n.stream, ' ' || b.label || ' ' || n.code || ' ', 1)) AS before,
    split_part(n.stream, ' ' || b.label || ' ' || n.code || ' ', 2) AS behind
FROM (
    SELECT a.entry_id, a.code, s.field, s.stream
    FROM (
        SELECT DISTINCT a.entry_id, a.code
        FROM inexact_pairs AS a
        JOIN unlikely_codes AS k ON k.code = a.code
    ) AS a
    JOIN label_streams AS s ON s.entry_id = a.entry_id
    WHERE contains(s.stream, ' ' || a.code || ' ')
) AS n
CROSS JOIN labels AS b
WHERE contains(n.stream, ' ' || b.label || ' ' || n.code || ' ')
