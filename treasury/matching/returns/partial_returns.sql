-- One row per return of a part of a line, with this line (`original_id`). It is the only possible line, and
-- `full_returns` and `accepted_returns` do not have it. The line's partial returns so far, including this one,
-- do not exceed its amount. An earlier partial return that exceeded the amount has no row, but is included in
-- this sum (`back_so_far`).
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
            is_only AND count(*) OVER (PARTITION BY return_id) = 1 AND original_amount <> amount
            AND NOT is_several AND NOT is_doubtful AS is_clear
        FROM return_evidence
    ) AS v
    WHERE v.is_clear AND v.first_id NOT IN (SELECT original_id FROM full_returns)
        AND v.first_id NOT IN (SELECT original_id FROM accepted_returns)
) AS parts
WHERE back_so_far <= original_amount
