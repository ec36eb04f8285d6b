-- One row per line that exceeds the remaining amount of the request that it names by more than `over_tolerance`,
-- if its payer is not known for this request. The payer counts as known if the request states the payer's
-- account. Duplicates, and lines that a person accepted, are excluded. `is_excessive`: the line alone exceeds
-- the whole expected amount by more than `over_tolerance`, so `earlier_payments` does not add it.
SELECT payment.entry_id, payment.expectation_id, payment.amount, payment.expected,
    payment.amount > payment.expected + payment.over_tolerance AS is_excessive
FROM (
    SELECT v.entry_id, v.expectation_id, v.booking_date, v.amount, v.expected, u.over_tolerance
    FROM provisional_pairs AS v
    CROSS JOIN rules AS u
    WHERE v.accepted_reason IS NULL
        AND v.amount > greatest(v.expected - v.before, CAST(0 AS DECIMAL(38, 18))) + u.over_tolerance
        AND NOT (v.before >= v.expected AND v.amount = v.expected)
) AS payment
JOIN expectations AS expectation ON expectation.expectation_id = payment.expectation_id
JOIN line_parties AS line ON line.entry_id = payment.entry_id
LEFT JOIN known_payers AS known
    ON known.expectation_id = payment.expectation_id AND known.party = line.party AND known.since < payment.booking_date
WHERE known.party IS NULL AND (expectation.counterparty_account IS NULL OR line.counterparty_account IS NULL)
