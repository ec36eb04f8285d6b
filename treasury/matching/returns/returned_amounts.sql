-- One row per line whose money was returned, in whole or in part, with the total of its returns, the day of the
-- first one, and one of their reasons.
SELECT
    original_id AS entry_id,
    CAST(sum(amount) AS DECIMAL(38, 18)) AS amount,
    min(booking_date) AS booking_date,
    min(return_reason) AS return_reason
FROM linked_returns
GROUP BY original_id
