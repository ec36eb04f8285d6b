-- Question 7: one row per line and open rival. The rival's own payments, without those in question, leave exactly the
-- amount to be paid; or it expects the amount in full and less than half is paid. A request that a payment completes
-- exactly is closed.
WITH own_payments AS (
    SELECT v.expectation_id, CAST(sum(v.amount) AS DECIMAL(38, 18)) AS paid
    FROM provisional_pairs AS v
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
    SELECT expectation_id FROM provisional_pairs WHERE expected - before = amount
    UNION ALL
    SELECT expectation_id FROM named_sums
) AS s ON s.expectation_id = c.expectation_id
WHERE e.amount - coalesce(o.paid, 0) = c.amount OR (e.amount = c.amount AND o.paid < e.amount - o.paid)
GROUP BY c.entry_id, c.expectation_id
