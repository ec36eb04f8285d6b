-- Payments of more than an expectation ever expected, from a payer who is not known for it: none of it was received.
SELECT v.entry_id, v.expectation_id
FROM (
    SELECT v.entry_id, v.expectation_id, v.booking_date
    FROM provisional AS v
    CROSS JOIN rules AS u
    WHERE v.accepted_reason IS NULL AND v.amount > v.expected + u.over_tolerance
) AS v
JOIN expectations AS e ON e.expectation_id = v.expectation_id
JOIN line_parties AS l ON l.entry_id = v.entry_id
LEFT JOIN known_payers AS k
    ON k.expectation_id = v.expectation_id AND k.party = l.party AND k.since < v.booking_date
WHERE k.party IS NULL AND (e.counterparty_account IS NULL OR l.counterparty_account IS NULL)
