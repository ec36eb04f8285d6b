-- read through
-- What each expectation received from all lines, shared ones too, and the last of them.
SELECT
    coalesce(t.expectation_id, f.expectation_id) AS expectation_id,
    CAST(coalesce(t.received, 0) + coalesce(f.received, 0) AS DECIMAL(38, 18)) AS received,
    coalesce(greatest(t.last_date, f.last_date), t.last_date, f.last_date) AS last_date,
    coalesce(greatest(t.last_line, f.last_line), t.last_line, f.last_line) AS last_line
FROM totals AS t
FULL JOIN (
    SELECT
        expectation_id,
        sum(abs(amount)) AS received,
        max(booking_date) AS last_date,
        max(CAST(booking_date AS VARCHAR) || entry_id) AS last_line
    FROM further
    GROUP BY expectation_id
) AS f ON f.expectation_id = t.expectation_id
