-- How much of each line came back, and with which return first.
SELECT
    original_id AS entry_id,
    CAST(sum(amount) AS DECIMAL(38, 18)) AS amount,
    min(return_id) AS return_id,
    min(return_reason) AS return_reason
FROM returns
GROUP BY original_id
