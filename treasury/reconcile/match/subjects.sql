-- What each lesson is about: its expectation, or of a request the counterparty it was expected from or for.
SELECT s.entry_id, s.booking_date, s.amount, s.currency, s.direction, s.counterparty_account, s.remittance,
    s.counterparty_name, n.folded AS payer_name,
    coalesce('A:' || s.owner_account, 'N:' || o.folded, 'E:' || s.expectation_id) AS subject
FROM lessons AS s
LEFT JOIN folded_names AS n ON n.name = s.counterparty_name
LEFT JOIN folded_names AS o ON o.name = s.owner_name
