-- At most one row: a movement that states no currency, in a statement that states none, on an account that is
-- declared in several currencies.
SELECT s.file_name, s.statement_id, s.account
FROM statement_entries AS e
JOIN statements AS s ON s.statement_id = e.statement_id
JOIN (
    SELECT account FROM declared_accounts GROUP BY account HAVING count(*) > 1
) AS d ON d.account = upper(replace(s.account, ' ', ''))
WHERE e.currency IS NULL AND s.currency IS NULL AND e.vanished_at IS NULL AND s.vanished_at IS NULL
LIMIT 1
