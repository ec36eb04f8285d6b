-- Lines that name such a code, not in a structured field, behind a label, by check digits of its own, or with the
-- amount that is expected; and those where it is part of an account.
SELECT a.entry_id, a.expectation_id
FROM inexact_pairs AS a
JOIN unlikely_codes AS k ON k.code = a.code
LEFT JOIN structured_references AS s ON s.entry_id = a.entry_id AND s.expectation_id = a.expectation_id AND s.is_own
LEFT JOIN (
    SELECT DISTINCT n.entry_id, n.code
    FROM (SELECT DISTINCT entry_id, code FROM inexact_pairs) AS n
    JOIN label_streams AS w ON w.entry_id = n.entry_id AND w.field <> 'remittance'
    ANTI JOIN codes_behind_labels AS b ON b.entry_id = w.entry_id AND b.code = n.code AND b.field = w.field
    WHERE contains(w.stream, ' ' || n.code || ' ')
    UNION
    SELECT entry_id, code FROM labelled_codes
) AS told ON told.entry_id = a.entry_id AND told.code = a.code
WHERE s.entry_id IS NULL AND told.entry_id IS NULL
UNION
SELECT a.entry_id, a.expectation_id
FROM inexact_pairs AS a
JOIN account_parts AS p ON p.entry_id = a.entry_id AND p.code = a.code
