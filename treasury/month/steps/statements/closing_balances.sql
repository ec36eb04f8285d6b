-- One row per declared account and currency, with its balance at the end of the month. It is the closing
-- balance of the statement that ends nearest to the month's end (if possible, not before it), without the
-- lines in this balance that were booked after the month. An account has no row if no statement of the month
-- states a closing balance.
--
-- Lines of other statements are in this balance if they were booked by its day. If another statement opened
-- with the same balance on that day, its lines of that day are not in it.
WITH nearest AS (
    SELECT m.account, m.currency, m.statement_id, m.closing_balance, m.last_day, a.month_last
    FROM month_statements AS m CROSS JOIN asked AS a
    WHERE m.is_declared AND m.closing_balance IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY m.account, m.currency
        ORDER BY CASE WHEN m.last_day >= a.month_last THEN 0 ELSE 1 END,
            abs(date_diff('day', m.last_day, a.month_last)), m.first_day DESC, m.sequence_number DESC,
            m.statement_id DESC
    ) = 1
)
SELECT
    n.account, n.currency, CAST(n.closing_balance - coalesce(m.moved, 0) AS DECIMAL(38, 18)) AS balance
FROM nearest AS n
LEFT JOIN (
    SELECT s.account, s.currency, sum(CASE l.direction WHEN 'CRDT' THEN l.amount ELSE -l.amount END) AS moved
    FROM nearest AS s
    JOIN (
        SELECT
            upper(replace(e.statement_account, ' ', '')) AS account,
            e.statement_id, e.currency, e.booking_date, e.direction, e.amount, t.opening_balance,
            coalesce(t.from_date, t.opening_date) AS opened_on
        FROM booked_entries AS e JOIN statements AS t ON t.statement_id = e.statement_id
    ) AS l
        ON l.account = s.account AND l.currency = s.currency AND l.booking_date > s.month_last
        AND (
            l.statement_id = s.statement_id OR l.booking_date < s.last_day
            OR (l.booking_date = s.last_day
                AND NOT coalesce(l.opened_on = s.last_day AND l.opening_balance = s.closing_balance, FALSE))
        )
    GROUP BY s.account, s.currency
) AS m ON m.account = n.account AND m.currency = n.currency
