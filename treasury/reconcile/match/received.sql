-- The lines of each expectation in the order they were booked: what was received before each, and how
-- much of each was still expected.
SELECT
    *,
    CASE
        WHEN expected IS NULL THEN amount
        ELSE greatest(least(amount, expected - before), CAST(0 AS DECIMAL(38, 18)))
    END AS matched_amount,
    coalesce(accepted_reason IS NULL AND before >= expected AND amount = expected, FALSE) AS is_duplicate
FROM (
    SELECT
        *,
        coalesce(CAST(sum(amount) OVER (
            PARTITION BY expectation_id
            ORDER BY booking_date, entry_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS DECIMAL(38, 18)), CAST(0 AS DECIMAL(38, 18))) AS before
    FROM assigned
) AS ordered
