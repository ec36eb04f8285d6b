-- Each return or reversal with the earlier line whose money it brings back: the other direction on the
-- same account, the original's own reference, the same amount; the first return takes the first
-- original, the second the second.
SELECT r.entry_id AS return_id, o.entry_id AS original_id, r.amount, r.return_reason
FROM (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account, currency, direction, amount, original_reference
            ORDER BY booking_date, entry_id
        ) AS turn
    FROM lines
    WHERE original_reference IS NOT NULL AND (is_reversal OR return_reason IS NOT NULL)
) AS r
JOIN (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account, currency, direction, amount, end_to_end_id
            ORDER BY booking_date, entry_id
        ) AS turn
    FROM lines
    WHERE end_to_end_id IS NOT NULL AND NOT is_reversal AND return_reason IS NULL
) AS o
    ON o.account = r.account AND o.currency = r.currency AND o.direction <> r.direction
    AND o.amount = r.amount AND o.end_to_end_id = r.original_reference AND o.turn = r.turn
WHERE o.booking_date <= r.booking_date
