-- One row per line and share that counts in addition to `received_shares`. No share exceeds what `received_shares`
-- leaves.
SELECT entry_id, expectation_id, CAST(NULL AS VARCHAR) AS given_by, accepted_reason, booking_date, amount
FROM divided_shares
WHERE amount > 0
UNION ALL
SELECT entry_id, expectation_id, given_by, CAST(NULL AS VARCHAR) AS accepted_reason, booking_date, amount
FROM joint_shares
UNION ALL
SELECT entry_id, expectation_id, given_by, CAST(NULL AS VARCHAR) AS accepted_reason, booking_date, amount
FROM rejoined_shares
