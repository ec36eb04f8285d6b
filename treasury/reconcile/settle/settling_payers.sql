-- The two requests for which each payer's account was first known, of those that are settled: more tell no more.
SELECT k.party, k.expectation_id AS owner, k.since
FROM known_payers AS k
JOIN settling_requests AS r ON r.expectation_id = k.expectation_id
WHERE k.is_account
QUALIFY row_number() OVER (PARTITION BY k.party ORDER BY k.since, k.expectation_id) <= 2
