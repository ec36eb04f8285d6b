-- Does the amount belong to somebody else's request? One row per line and rival that is open: what its own payments, none
-- of them in question itself, leave of it is exactly the amount; or all of it is, and they paid the smaller part. One that
-- a payment completes exactly is not open.
WITH own_payments AS (
    SELECT v.expectation_id, CAST(sum(v.amount) AS DECIMAL(38, 18)) AS paid
    FROM provisional AS v
    SEMI JOIN rival_claims AS r ON r.expectation_id = v.expectation_id
    LEFT JOIN (SELECT DISTINCT entry_id FROM rival_claims) AS q ON q.entry_id = v.entry_id
    WHERE v.accepted_reason IS NOT NULL OR q.entry_id IS NULL
    GROUP BY v.expectation_id
)
SELECT c.entry_id, c.expectation_id, min(c.tie) AS tie
FROM rival_claims AS c
JOIN expectations AS e ON e.expectation_id = c.expectation_id
LEFT JOIN own_payments AS o ON o.expectation_id = c.expectation_id
ANTI JOIN (
    SELECT expectation_id FROM provisional WHERE expected - before = amount
    UNION ALL
    SELECT expectation_id FROM named_sums
) AS s ON s.expectation_id = c.expectation_id
WHERE e.amount - coalesce(o.paid, 0) = c.amount OR (e.amount = c.amount AND o.paid < e.amount - o.paid)
GROUP BY c.entry_id, c.expectation_id
