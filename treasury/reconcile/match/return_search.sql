-- Where each return looks for the line that it brings back: 1 among lines of the reference that it states and the code
-- that it names, 2 among those of the reference, 3, where it states none, among those of the code.
SELECT return_id, CASE reference WHEN '' THEN 3 ELSE 1 END AS strength, account, currency, direction, reference,
    expectation_id, amount, booking_date
FROM return_codes
UNION ALL
SELECT entry_id AS return_id, 2 AS strength, account, currency,
    CASE direction WHEN 'CRDT' THEN 'DBIT' ELSE 'CRDT' END AS direction, reference,
    '' AS expectation_id, amount, booking_date
FROM marked
WHERE reference <> ''
