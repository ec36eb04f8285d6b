-- One row per line of an expectation that received an excessive payment, with the amount that earlier lines
-- paid, or null for the first line. A payment is excessive if it alone exceeds the whole expected amount by more
-- than `over_tolerance` (see `overpaying_lines`). Excessive payments are not added, because a person has to
-- decide about them.
SELECT entry_id, CAST(sum(counted) OVER (
    PARTITION BY expectation_id
    ORDER BY booking_date, entry_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
) AS DECIMAL(38, 18)) AS amount
FROM (
    SELECT v.entry_id, v.expectation_id, v.booking_date,
        CASE WHEN x.entry_id IS NULL THEN v.amount ELSE CAST(0 AS DECIMAL(38, 18)) END AS counted
    FROM provisional_pairs AS v
    JOIN (SELECT DISTINCT expectation_id FROM overpaying_lines WHERE is_excessive) AS e ON e.expectation_id = v.expectation_id
    LEFT JOIN overpaying_lines AS x ON x.entry_id = v.entry_id AND x.is_excessive
) AS of_expectations
