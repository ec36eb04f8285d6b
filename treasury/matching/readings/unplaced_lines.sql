-- One row per line that needs an expectation, with the columns of `line_parties`. The line has no class and no
-- whole or structured reference. No person accepted or ignored it, and it is not the debit of a payment file.
--
-- A line that is not booked is included even if a person accepted it or it pays a payment file, because an
-- acceptance counts only for a booked line.
SELECT l.*
FROM line_parties AS l
ANTI JOIN whole_references AS w ON w.entry_id = l.entry_id
LEFT JOIN (
    SELECT DISTINCT entry_id, verdict FROM decisions WHERE verdict IN ('accept', 'file', 'ignore')
) AS d ON d.entry_id = l.entry_id
WHERE l.line_class IS NULL
    AND (d.entry_id IS NULL OR (d.verdict <> 'ignore' AND coalesce(l.entry_status, 'BOOK') <> 'BOOK'))
