-- One row per line of which money was returned, with the total of its returns, the day of the first one, and one
-- of their reasons.
SELECT
    original_id AS entry_id,
    CAST(sum(amount) AS DECIMAL(38, 18)) AS amount,
    min(booking_date) AS booking_date,
    min(return_reason) AS return_reason
FROM linked_returns
GROUP BY original_id
