-- Payments of more than what remains, by all that was booked before, from a payer who is not known for the expectation.
-- `is_excessive`: of more than it ever expected, so that none of it was received.
SELECT v.entry_id, v.expectation_id, v.amount, v.expected, v.amount > v.expected + v.over_tolerance AS is_excessive
FROM (
    SELECT v.entry_id, v.expectation_id, v.booking_date, v.amount, v.expected, u.over_tolerance
    FROM provisional_pairs AS v
    CROSS JOIN rules AS u
    WHERE v.accepted_reason IS NULL
        AND v.amount > greatest(v.expected - v.before, CAST(0 AS DECIMAL(38, 18))) + u.over_tolerance
        AND NOT (v.before >= v.expected AND v.amount = v.expected)
) AS v
JOIN expectations AS e ON e.expectation_id = v.expectation_id
JOIN line_parties AS l ON l.entry_id = v.entry_id
LEFT JOIN known_payers AS k
    ON k.expectation_id = v.expectation_id AND k.party = l.party AND k.since < v.booking_date
WHERE k.party IS NULL AND (e.counterparty_account IS NULL OR l.counterparty_account IS NULL)
