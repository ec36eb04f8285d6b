-- Lines that may each be a part of one request; of a counterparty with too many of them, nothing is said.
SELECT entry_id, account, party, booking_date, amount, expectation_id, remaining
FROM (
    SELECT *, count(*) OVER (PARTITION BY expectation_id, account, party) AS parts
    FROM sum_pairs
    WHERE amount < remaining
) AS counted
WHERE parts <= (SELECT max_pool FROM rules)
