-- Each return or reversal with the earlier line whose money it brings back, whole or in part. A part is linked
-- only to the one line it can belong to, and only while that line has as much left.
SELECT return_id, original_id, return_reason, amount, booking_date, expectation_id
FROM full_returns
UNION ALL
SELECT return_id, original_id, return_reason, amount, booking_date, expectation_id
FROM said_returns
UNION ALL
SELECT return_id, original_id, return_reason, amount, booking_date, expectation_id
FROM (
    SELECT
        v.*,
        sum(v.amount) OVER (
            PARTITION BY v.original_id ORDER BY v.booking_date, v.return_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS back_so_far
    FROM (
        SELECT *, first_id AS original_id,
            is_only AND count(*) OVER (PARTITION BY return_id) = 1 AND original_amount <> amount AS is_clear
        FROM evidence_of_return
    ) AS v
    WHERE v.is_clear AND v.first_id NOT IN (SELECT original_id FROM full_returns)
        AND v.first_id NOT IN (SELECT original_id FROM said_returns)
) AS parts
WHERE back_so_far <= original_amount
