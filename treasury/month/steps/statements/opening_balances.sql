-- One row per declared account and currency, with its balance at the beginning of the month. It is the opening
-- balance of the statement that begins nearest to the month's beginning (if possible, not after it), together
-- with the lines after this balance that were booked before the month. An account has no row if no statement
-- of the month states an opening balance.
--
-- Lines of other statements are after this balance if they were booked from its day on. If another statement
-- closed with the same balance on that day, its lines of that day are not after it.
WITH nearest AS (
    SELECT m.account, m.currency, m.statement_id, m.opening_balance, m.first_day, a.month_first
    FROM month_statements AS m CROSS JOIN asked AS a
    WHERE m.is_declared AND m.opening_balance IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY m.account, m.currency
        ORDER BY CASE WHEN m.first_day <= a.month_first THEN 0 ELSE 1 END,
            abs(date_diff('day', m.first_day, a.month_first)), m.last_day, m.sequence_number, m.statement_id
    ) = 1
)
SELECT
    n.account, n.currency, CAST(n.opening_balance + coalesce(m.moved, 0) AS DECIMAL(38, 18)) AS balance
FROM nearest AS n
LEFT JOIN (
    SELECT s.account, s.currency, sum(CASE l.direction WHEN 'CRDT' THEN l.amount ELSE -l.amount END) AS moved
    FROM nearest AS s
    JOIN (
        SELECT
            upper(replace(e.statement_account, ' ', '')) AS account,
            e.statement_id, e.currency, e.booking_date, e.direction, e.amount, t.closing_date, t.closing_balance
        FROM booked_entries AS e JOIN statements AS t ON t.statement_id = e.statement_id
    ) AS l
        ON l.account = s.account AND l.currency = s.currency AND l.booking_date < s.month_first
        AND (
            l.statement_id = s.statement_id OR l.booking_date > s.first_day
            OR (l.booking_date = s.first_day
                AND NOT coalesce(l.closing_date = s.first_day AND l.closing_balance = s.opening_balance, FALSE))
        )
    GROUP BY s.account, s.currency
) AS m ON m.account = n.account AND m.currency = n.currency
