-- One row per line without a class and without a whole or structured reference, which no person accepted or
-- ignored, and which is not the debit of a payment file. A pending line is included even if a person accepted
-- it, because an acceptance counts only for a booked line.
SELECT l.*
FROM line_parties AS l
ANTI JOIN whole_references AS w ON w.entry_id = l.entry_id
LEFT JOIN (
    SELECT DISTINCT entry_id, verdict FROM decisions WHERE verdict IN ('accept', 'file', 'ignore')
) AS d ON d.entry_id = l.entry_id
WHERE l.line_class IS NULL
    AND (d.entry_id IS NULL OR (d.verdict <> 'ignore' AND coalesce(l.entry_status, 'BOOK') <> 'BOOK'))
