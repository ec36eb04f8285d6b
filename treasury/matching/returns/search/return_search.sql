-- One row per pair of a return and a key by which its original line is searched. `strength` is 1 for the stated
-- reference and the named code, 2 for the reference alone, 3 for the code alone. With strength 3, `reference` is
-- `any` if the return states no reference. Otherwise it is `none`, which finds only lines without a reference
-- (see `return_codes`).
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
