-- This step is a view: its rows are not stored.
-- One row per leg (posting) of a bank line's journal entry. The line's amount is posted to its account, the
-- explained part to its role (`contra`), and the rest to suspense. If the line pays several expectations, each
-- share is posted to its own role instead of the explained part.
SELECT entry_no, 1 AS part, 0 AS place, role, account, currency, amount, coalesce(expectation_id, entry_id) AS subject_id
FROM line_amounts
UNION ALL
SELECT entry_no, 2, 0, contra, '', currency, -explained, coalesce(expectation_id, entry_id)
FROM line_amounts WHERE NOT is_shared
UNION ALL
SELECT entry_no, 3, 0, 'suspense', '', currency, CAST(explained - amount AS DECIMAL(38, 18)), coalesce(expectation_id, entry_id)
FROM line_amounts WHERE NOT is_shared
UNION ALL
SELECT entry_no, 2, place, role, '', currency, amount, expectation_id
FROM shared_legs
UNION ALL
SELECT l.entry_no, 3, 0, 'suspense', '', l.currency, CAST(-l.amount - s.amount AS DECIMAL(38, 18)), l.entry_id
FROM line_amounts AS l
JOIN (
    SELECT entry_no, CAST(sum(amount) AS DECIMAL(38, 18)) AS amount FROM shared_legs GROUP BY entry_no
) AS s ON s.entry_no = l.entry_no
