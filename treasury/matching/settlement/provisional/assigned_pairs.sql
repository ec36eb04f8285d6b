-- read through
-- One row per line and the one expectation that it belongs to: the accepted one, else the one of its whole
-- reference if the line has no doubt.
SELECT v.entry_id, v.expectation_id, v.tier, v.accepted_reason, v.booking_date, v.expected, v.rivals, v.amount
FROM provisional_pairs AS v
LEFT JOIN (SELECT DISTINCT entry_id FROM line_doubts) AS d ON d.entry_id = v.entry_id
WHERE v.accepted_reason IS NOT NULL OR d.entry_id IS NULL
