-- One row per booked line that the bank marks as a return or reversal, or that a person accepted as money coming
-- back. Ignored lines and lines with a class are excluded.
SELECT *
FROM lines
WHERE (is_reversal OR return_reason IS NOT NULL
    OR entry_id IN (SELECT entry_id FROM accepted_pairs WHERE brings_back))
    AND line_class IS NULL AND coalesce(entry_status, 'BOOK') = 'BOOK'
    AND entry_id NOT IN (SELECT entry_id FROM ignored_lines)
