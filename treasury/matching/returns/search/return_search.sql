-- Where each return looks for the line that it brings back: 1 among lines of the reference that it states and the code
-- that it names, 2 among those of the reference, 3 among those of the code, or of those the ones without a reference.
SELECT return_id, 1 AS strength, account, currency, direction, reference, expectation_id, amount, booking_date
FROM return_codes
WHERE goes_by <> 'code'
UNION ALL
SELECT entry_id AS return_id, 2 AS strength, account, currency,
    CASE direction WHEN 'CRDT' THEN 'DBIT' ELSE 'CRDT' END AS direction, reference,
    '' AS expectation_id, amount, booking_date
FROM marked_returns
WHERE reference <> ''
UNION ALL
SELECT return_id, 3 AS strength, account, currency, direction,
    CASE goes_by WHEN 'code' THEN 'any' ELSE 'none' END AS reference, expectation_id, amount, booking_date
FROM return_codes
WHERE goes_by <> 'reference'
