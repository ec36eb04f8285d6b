-- One row per pair of a line and a rival request: another request that the line's payer may have meant (question
-- 7: does the amount belong to another request?). One of the line's amounts in `missed_amounts` is exactly what
-- is left of the rival request after its other payments. Or it is the request's whole amount, and less than half
-- of this is paid.
--
-- A payment that has a rival request itself is subtracted only if a person accepted it. A request is excluded if
-- another line pays exactly what remains of it, or is the exact sum of this and other requests (`named_sums`).
WITH own_payments AS (
    SELECT v.expectation_id, CAST(sum(v.amount) AS DECIMAL(38, 18)) AS paid
    FROM provisional_pairs AS v
    SEMI JOIN rival_claims AS r ON r.expectation_id = v.expectation_id
    LEFT JOIN (SELECT DISTINCT entry_id FROM rival_claims) AS q ON q.entry_id = v.entry_id
    WHERE v.accepted_reason IS NOT NULL OR q.entry_id IS NULL
    GROUP BY v.expectation_id
)
SELECT claim.entry_id, claim.expectation_id, min(claim.tie) AS tie
FROM rival_claims AS claim
JOIN expectations AS expectation ON expectation.expectation_id = claim.expectation_id
LEFT JOIN own_payments AS own_payment ON own_payment.expectation_id = claim.expectation_id
ANTI JOIN (
    SELECT expectation_id FROM provisional_pairs WHERE expected - before = amount
    UNION ALL
    SELECT expectation_id FROM named_sums
) AS settled_request ON settled_request.expectation_id = claim.expectation_id
WHERE expectation.amount - coalesce(own_payment.paid, 0) = claim.amount OR (expectation.amount = claim.amount
    AND own_payment.paid < expectation.amount - own_payment.paid)
GROUP BY claim.entry_id, claim.expectation_id
