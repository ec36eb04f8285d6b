-- What each expectation received from the lines that belong to it alone, and the last of them: its
-- day and, together with it, its id.
SELECT
    expectation_id,
    CAST(sum(amount) AS DECIMAL(38, 18)) AS received,
    max(booking_date) AS last_date,
    max(CAST(booking_date AS VARCHAR) || entry_id) AS last_line
FROM received
WHERE NOT is_duplicate
GROUP BY expectation_id
