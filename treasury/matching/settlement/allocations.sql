-- This step is a view: its rows are not stored.
-- One row per share of a line that counts towards an expectation.
SELECT entry_id, expectation_id, matched_amount AS amount
FROM received_shares
WHERE NOT is_duplicate AND matched_amount > 0
UNION ALL
SELECT entry_id, expectation_id, amount
FROM further_shares
