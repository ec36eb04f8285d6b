-- Lines (+1) and the returns of the same amount (-1) that may belong together, in one list. A return that fits lines
-- of several expectations or payers belongs to none.
SELECT DISTINCT
    v.account, v.currency, v.direction, v.amount, v.expectation_id, v.reference, v.party,
    v.original_id AS id, v.original_date AS booking_date, 1 AS step, 0 AS strength, CAST(NULL AS VARCHAR) AS return_reason
FROM evidence_of_return AS v
WHERE v.original_amount = v.amount
UNION ALL
SELECT DISTINCT
    account, currency, direction, amount, expectation_id, reference, party,
    return_id AS id, booking_date, -1 AS step, strength, return_reason
FROM (
    SELECT *,
        min(expectation_id) OVER (PARTITION BY return_id) = max(expectation_id) OVER (PARTITION BY return_id)
        AND min(party) OVER (PARTITION BY return_id) = max(party) OVER (PARTITION BY return_id) AS is_clear
    FROM evidence_of_return
    WHERE original_amount = amount
) AS equal
WHERE is_clear
