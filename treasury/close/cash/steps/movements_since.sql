-- One row per account and currency of last_balances with at least one booked or pending movement. `intraday`
-- is the sum of the movements booked after the day of the balance, `pending` of those not booked yet, `later`
-- of those in the balance with a value date after $today; debits are negative. `unclear` counts the movements
-- without an amount, or booked without a day.
SELECT
    b.account,
    b.currency,
    CAST(sum(m.amount) FILTER (WHERE m.is_booked AND m.booking_date > b.balance_on) AS DECIMAL(38, 18)) AS intraday,
    CAST(sum(m.amount) FILTER (WHERE NOT m.is_booked) AS DECIMAL(38, 18)) AS pending,
    CAST(sum(m.amount) FILTER (
        WHERE m.is_booked AND m.booking_date <= b.balance_on AND m.value_date > $today
    ) AS DECIMAL(38, 18)) AS later,
    count(*) FILTER (
        WHERE m.amount IS NULL OR (m.is_booked AND m.booking_date IS NULL)
    ) AS unclear
FROM last_balances AS b
JOIN (
    SELECT
        upper(replace(e.account, ' ', '')) AS account,
        coalesce(e.currency, s.currency, o.currency) AS currency,
        CASE e.direction WHEN 'CRDT' THEN e.amount ELSE -e.amount END AS amount,
        coalesce(e.entry_status, 'BOOK') = 'BOOK' AS is_booked,
        e.booking_date,
        e.value_date
    FROM statement_entries AS e
    JOIN statements AS s ON s.statement_id = e.statement_id
    LEFT JOIN (
        SELECT account, min(currency) AS currency FROM last_balances GROUP BY account HAVING count(*) = 1
    ) AS o ON o.account = upper(replace(e.account, ' ', ''))
    WHERE e.vanished_at IS NULL AND s.vanished_at IS NULL
        AND coalesce(e.entry_status, 'BOOK') IN ('BOOK', 'PDNG')
) AS m ON m.account = b.account AND m.currency = b.currency
GROUP BY b.account, b.currency
