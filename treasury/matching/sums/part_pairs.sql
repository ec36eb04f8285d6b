-- One row per pair of a line of a known payer and a request that this line may pay in part. If a counterparty
-- has more than `max_pool` such lines for a request on one account, all of them are excluded.
SELECT entry_id, account, party, booking_date, amount, expectation_id, remaining
FROM (
    SELECT *, count(*) OVER (PARTITION BY expectation_id, account, party) AS parts
    FROM sum_pairs
    WHERE amount < remaining
) AS counted
WHERE parts <= (SELECT max_pool FROM rules)
