-- One row per pair of a line and an expectation that it names, if the code in the text may be no reference
-- (question 6), and the amount does not confirm it (see `inexact_pairs`). There are two cases:
-- - The code is in `unlikely_codes`. It is not itself a structured reference, and no label proves it
--   (`labelled_codes`). It is not in a field for references (end-to-end id or creditor reference), or a label
--   is before it there.
-- - The code may be a part of an account number (see `account_parts`).
SELECT inexact.entry_id, inexact.expectation_id
FROM inexact_pairs AS inexact
JOIN unlikely_codes AS unlikely ON unlikely.code = inexact.code
LEFT JOIN structured_references AS structured
    ON structured.entry_id = inexact.entry_id AND structured.expectation_id = inexact.expectation_id AND structured.is_own
LEFT JOIN (
    SELECT DISTINCT n.entry_id, n.code
    FROM (SELECT DISTINCT entry_id, code FROM inexact_pairs) AS n
    JOIN label_streams AS w ON w.entry_id = n.entry_id AND w.field <> 'remittance'
    ANTI JOIN codes_behind_labels AS b ON b.entry_id = w.entry_id AND b.code = n.code AND b.field = w.field
    WHERE contains(w.stream, ' ' || n.code || ' ')
    UNION
    SELECT entry_id, code FROM labelled_codes
) AS told ON told.entry_id = inexact.entry_id AND told.code = inexact.code
WHERE structured.entry_id IS NULL AND told.entry_id IS NULL
UNION
SELECT a.entry_id, a.expectation_id
FROM inexact_pairs AS a
JOIN account_parts AS p ON p.entry_id = a.entry_id AND p.code = a.code
