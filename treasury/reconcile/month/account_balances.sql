-- Each declared account's balance when the month began and when it ended: that of the first statement that
-- touches the month, moved by its entries before the month, and that of the last, moved back by those after.
SELECT
    f.account,
    CAST(f.opening_balance + coalesce(f.moved_before, 0) AS DECIMAL(38, 18)) AS opening_balance,
    CAST(t.closing_balance - coalesce(t.moved_after, 0) AS DECIMAL(38, 18)) AS closing_balance
FROM (
    SELECT
        s.account, s.opening_balance,
        (
            SELECT sum(CASE e.direction WHEN 'CRDT' THEN e.amount ELSE -e.amount END)
            FROM bank_lines AS e CROSS JOIN asked AS a
            WHERE e.statement_id = s.statement_id AND e.booking_date < a.month_first
                AND coalesce(e.entry_status, 'BOOK') = 'BOOK'
        ) AS moved_before
    FROM month_statements AS s
    QUALIFY row_number() OVER (
        PARTITION BY s.account ORDER BY s.closing_date, s.opening_date, s.statement_id
    ) = 1
) AS f
JOIN (
    SELECT
        s.account, s.closing_balance,
        (
            SELECT sum(CASE e.direction WHEN 'CRDT' THEN e.amount ELSE -e.amount END)
            FROM bank_lines AS e CROSS JOIN asked AS a
            WHERE e.statement_id = s.statement_id AND e.booking_date > a.month_last
                AND coalesce(e.entry_status, 'BOOK') = 'BOOK'
        ) AS moved_after
    FROM month_statements AS s
    QUALIFY row_number() OVER (
        PARTITION BY s.account ORDER BY s.closing_date DESC, s.opening_date DESC, s.statement_id DESC
    ) = 1
) AS t ON t.account = f.account
