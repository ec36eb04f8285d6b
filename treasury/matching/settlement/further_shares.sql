-- One row per line and share that an expectation receives in addition to `received_shares`. A share never
-- exceeds the amount that `received_shares` leaves open.
SELECT entry_id, expectation_id, CAST(NULL AS VARCHAR) AS given_by, accepted_reason, booking_date, amount
FROM divided_shares
WHERE amount > 0
UNION ALL
SELECT entry_id, expectation_id, given_by, CAST(NULL AS VARCHAR) AS accepted_reason, booking_date, amount
FROM joint_shares
UNION ALL
SELECT entry_id, expectation_id, given_by, CAST(NULL AS VARCHAR) AS accepted_reason, booking_date, amount
FROM rejoined_shares
