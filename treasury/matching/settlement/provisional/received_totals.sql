-- One row per expectation in `received_shares`, with the total received and the day and id of the last line.
-- Duplicates are excluded. For speed, only expectations with several lines are summed.
WITH repeatedly_paid_expectations AS (
    SELECT DISTINCT expectation_id
    FROM provisional_pairs
    WHERE before > 0
)
SELECT r.expectation_id, r.expected, r.amount AS received, r.booking_date AS last_date, r.entry_id AS last_entry_id
FROM received_shares AS r
ANTI JOIN repeatedly_paid_expectations AS m ON m.expectation_id = r.expectation_id
WHERE NOT r.is_duplicate
UNION ALL
SELECT
    r.expectation_id,
    min(r.expected) AS expected,
    CAST(sum(r.amount) AS DECIMAL(38, 18)) AS received,
    max(r.booking_date) AS last_date,
    substr(max(CAST(r.booking_date AS VARCHAR) || r.entry_id), 11) AS last_entry_id
FROM received_shares AS r
SEMI JOIN repeatedly_paid_expectations AS m ON m.expectation_id = r.expectation_id
WHERE NOT r.is_duplicate
GROUP BY r.expectation_id
