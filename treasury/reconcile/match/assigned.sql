-- The one expectation that a line belongs to by itself: as a person accepted, else as its whole reference
-- proves. What came back is not counted, nor are lines not yet booked; of twins that nothing tells apart
-- a person says which is which.
SELECT
    p.entry_id, p.expectation_id, p.tier, p.accepted_reason, p.booking_date, p.expected, p.rivals,
    CAST(p.amount - coalesce(b.amount, 0) AS DECIMAL(38, 18)) AS amount
FROM (
    SELECT entry_id, expectation_id, CAST(NULL AS INTEGER) AS tier, reason AS accepted_reason, booking_date, expected,
        amount, 0 AS rivals
    FROM accepted
    WHERE several = 1 AND counts
    UNION ALL
    SELECT p.entry_id, p.expectation_id, p.tier, CAST(NULL AS VARCHAR) AS accepted_reason, p.booking_date, p.expected,
        p.amount, coalesce(n.named - 1, 0) AS rivals
    FROM pairs AS p
    LEFT JOIN crowded AS n ON n.entry_id = p.entry_id
    WHERE p.tier IN (1, 3) AND p.contradiction IS NULL AND p.proves
        AND (n.entry_id IS NULL OR (n.code = n.other_code AND n.viable = 1))
        AND p.entry_id NOT IN (SELECT entry_id FROM doubted)
        AND p.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'ignore'))
) AS p
LEFT JOIN came_back AS b ON b.entry_id = p.entry_id
WHERE p.entry_id NOT IN (SELECT return_id FROM returns)
    AND p.amount > coalesce(b.amount, 0)
