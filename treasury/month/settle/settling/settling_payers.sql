-- One row per pair of a payer's account and a settled request for which this account is known. Only the first
-- two requests of each account are included, because two already show that the account pays for several.
SELECT k.party, k.expectation_id AS owner, k.since
FROM (
    SELECT expectation_id, party, min(since) AS since
    FROM known_payers
    WHERE is_account
    GROUP BY expectation_id, party
) AS k
JOIN settling_requests AS r ON r.expectation_id = k.expectation_id
QUALIFY row_number() OVER (PARTITION BY k.party ORDER BY k.since, k.expectation_id) <= 2
