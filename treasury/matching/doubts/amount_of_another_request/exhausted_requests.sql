-- One row per pair of a line and the request that it names, if earlier lines have already paid the request's
-- whole amount. Earlier lines count if a person accepted them or if they raise no doubt. The line itself raises
-- no doubt, and no person accepted it.
--
-- A second payment of exactly the request's amount is a duplicate and is excluded. It is included if a person
-- divided another payment and assigned a part of that payment to the request.
WITH counted AS (
    SELECT v.entry_id, v.expectation_id, v.booking_date, v.expected, v.amount, v.accepted_reason, FALSE AS is_divided
    FROM provisional_pairs AS v
    LEFT JOIN (SELECT DISTINCT entry_id FROM question_doubts) AS d ON d.entry_id = v.entry_id
    WHERE v.expected IS NOT NULL AND (v.accepted_reason IS NOT NULL OR d.entry_id IS NULL)
    UNION ALL
    SELECT entry_id, expectation_id, booking_date, expected, coalesce(share, least(amount, expected)) AS amount,
        reason AS accepted_reason, TRUE AS is_divided
    FROM accepted_pairs
    WHERE several > 1 AND counts AND expected IS NOT NULL
),
several AS (SELECT expectation_id FROM counted GROUP BY expectation_id HAVING count(*) > 1)
SELECT entry_id, expectation_id
FROM (
    SELECT entry_id, expectation_id, expected, amount, accepted_reason,
        CAST(sum(amount) OVER (
            PARTITION BY expectation_id ORDER BY booking_date, entry_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS DECIMAL(38, 18)) AS before,
        bool_or(is_divided) OVER (PARTITION BY expectation_id) AS is_divided
    FROM counted AS c
    SEMI JOIN several AS s ON s.expectation_id = c.expectation_id
) AS in_turn
WHERE accepted_reason IS NULL AND before >= expected AND (amount <> expected OR is_divided)
