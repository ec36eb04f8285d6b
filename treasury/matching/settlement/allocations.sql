-- This step is a view: its rows are not stored.
-- One row per pair of a line and an expectation that receives money from it, with the amount. The amount is
-- negative for an expectation that `joint_shares` subtracts from a sum. Duplicates are excluded.
SELECT entry_id, expectation_id, matched_amount AS amount
FROM received_shares
WHERE NOT is_duplicate AND matched_amount > 0
UNION ALL
SELECT entry_id, expectation_id, amount
FROM further_shares
