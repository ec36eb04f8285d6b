-- One row per distinct amount in `unplaced_payments`, with limits a tenth below and a tenth above it. Only
-- amounts in a currency and direction of `payment_lessons` are included.
SELECT
    amount,
    CAST(CAST(amount AS DECIMAL(28, 8)) * CAST(0.9 AS DECIMAL(2, 1)) AS DECIMAL(38, 18)) AS least,
    CAST(CAST(amount AS DECIMAL(28, 8)) * CAST(1.1 AS DECIMAL(2, 1)) AS DECIMAL(38, 18)) AS most
FROM (
    SELECT DISTINCT u.amount
    FROM unplaced_payments AS u
    JOIN (SELECT DISTINCT currency, direction FROM payment_lessons) AS s
        ON s.currency = u.currency AND s.direction = u.direction
) AS amounts
