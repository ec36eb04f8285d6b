-- One row per line that belongs to exactly one expectation, with this expectation: the one that a person
-- accepted or, if the line raises no doubt, the one of its whole or structured reference. `before` is the amount
-- received from earlier lines, `matched_amount` the part of the line that was still expected. `is_duplicate`:
-- no person accepted the line, and it pays the whole amount of an expectation that was already fully paid. For
-- speed, `before` is summed again only for expectations with doubted lines.
WITH doubted_lines AS (
    SELECT DISTINCT entry_id
    FROM line_doubts
),
doubted_expectations AS (
    SELECT DISTINCT v.expectation_id
    FROM provisional_pairs AS v
    JOIN doubted_lines AS d ON d.entry_id = v.entry_id
),
assigned_pairs AS (
    SELECT v.entry_id, v.expectation_id, v.tier, v.accepted_reason, v.booking_date, v.expected, v.rivals, v.amount
    FROM provisional_pairs AS v
    LEFT JOIN doubted_lines AS d ON d.entry_id = v.entry_id
    WHERE v.accepted_reason IS NOT NULL OR d.entry_id IS NULL
)
SELECT
    *,
    CASE
        WHEN expected IS NULL THEN amount
        ELSE greatest(least(amount, expected - before), CAST(0 AS DECIMAL(38, 18)))
    END AS matched_amount,
    coalesce(accepted_reason IS NULL AND before >= expected AND amount = expected, FALSE) AS is_duplicate
FROM (
    SELECT v.entry_id, v.expectation_id, v.tier, v.accepted_reason, v.booking_date, v.expected, v.rivals, v.amount, v.before
    FROM provisional_pairs AS v
    WHERE v.expectation_id NOT IN (SELECT expectation_id FROM doubted_expectations)
    UNION ALL
    SELECT
        a.entry_id, a.expectation_id, a.tier, a.accepted_reason, a.booking_date, a.expected, a.rivals, a.amount,
        coalesce(CAST(sum(a.amount) OVER (
            PARTITION BY a.expectation_id
            ORDER BY a.booking_date, a.entry_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS DECIMAL(38, 18)), CAST(0 AS DECIMAL(38, 18))) AS before
    FROM assigned_pairs AS a
    JOIN doubted_expectations AS d ON d.expectation_id = a.expectation_id
) AS ordered
