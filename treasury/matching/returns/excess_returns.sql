-- One row per return, if there are payments on the same account with the reference that the return states, and
-- the return is greater than each of these payments.
SELECT m.entry_id
FROM marked_returns AS m
JOIN (
    SELECT reference, account, currency, direction, max(amount) AS amount
    FROM origin_groups
    WHERE reference <> ''
    GROUP BY reference, account, currency, direction
) AS o
    ON o.reference = m.reference AND o.account = m.account AND o.currency = m.currency AND o.direction <> m.direction
    AND o.amount < m.amount
