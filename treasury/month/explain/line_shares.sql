-- One row per expectation that receives money from the explained line, with the amount.
SELECT share.expectation_id, expectation.code AS reference, share.amount, line.currency
FROM allocations AS share
JOIN bank_lines AS line ON line.entry_id = share.entry_id
LEFT JOIN expectations AS expectation ON expectation.expectation_id = share.expectation_id
WHERE share.entry_id = ?
ORDER BY expectation.code, share.expectation_id
