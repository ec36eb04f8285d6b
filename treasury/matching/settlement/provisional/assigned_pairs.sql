-- read through
-- The one expectation that a line belongs to by itself: as a person accepted, else as its whole reference proves and
-- nothing else could be meant.
SELECT v.entry_id, v.expectation_id, v.tier, v.accepted_reason, v.booking_date, v.expected, v.rivals, v.amount
FROM provisional_pairs AS v
LEFT JOIN (SELECT DISTINCT entry_id FROM line_doubts) AS d ON d.entry_id = v.entry_id
WHERE v.accepted_reason IS NOT NULL OR d.entry_id IS NULL
