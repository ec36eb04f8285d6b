-- One row per booked line of a declared account, from which balances are calculated. All lines of statements
-- that touch the month are included. Lines of other statements are included from the first day of the month on
-- or, if it is earlier, from the first day of the statements that touch the month.
SELECT
    e.account AS statement_account, e.statement_id, coalesce(e.currency, s.currency, d.only_currency) AS currency,
    e.booking_date, e.direction, e.amount
FROM (
    SELECT e.account, e.statement_id, e.currency, e.booking_date, e.direction, e.amount
    FROM statement_entries AS e
    CROSS JOIN asked AS a
    LEFT JOIN (SELECT DISTINCT statement_id FROM month_statements) AS n ON n.statement_id = e.statement_id
    WHERE e.amount > 0 AND coalesce(e.entry_status, 'BOOK') = 'BOOK' AND e.vanished_at IS NULL
        AND (n.statement_id IS NOT NULL
            OR e.booking_date >= least(a.month_first, (SELECT min(first_day) FROM month_statements)))
) AS e
JOIN counted_statements AS s ON s.statement_id = e.statement_id
JOIN (
    SELECT account, source, CASE WHEN count(*) = 1 THEN min(currency) END AS only_currency
    FROM declared_accounts GROUP BY account, source
) AS d ON d.account = upper(replace(e.account, ' ', ''))
