-- One row per pair of a line and an expectation that receives money from it, except those in `received_shares`.
-- A person divided the line (`divided_shares`), several references add up to it (`joint_shares`), or a reference
-- that is split or written another way is proved (`rejoined_shares`).
SELECT entry_id, expectation_id, CAST(NULL AS VARCHAR) AS given_by, accepted_reason, booking_date, amount
FROM divided_shares
WHERE amount > 0
UNION ALL
SELECT entry_id, expectation_id, given_by, CAST(NULL AS VARCHAR) AS accepted_reason, booking_date, amount
FROM joint_shares
UNION ALL
SELECT entry_id, expectation_id, given_by, CAST(NULL AS VARCHAR) AS accepted_reason, booking_date, amount
FROM rejoined_shares
