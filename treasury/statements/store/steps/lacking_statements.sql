-- One row per statement that lacks movements after statement $id is withdrawn. It belongs to the same account,
-- and $id has movements on its days. Either some of its movements are stored only with $id, or movements of
-- these days are superseded because $id was decisive for them. The second case exists only if one of the two
-- is a report of movements (camt.052, camt.054, MT942), or the statement is a CSV export.
WITH gone AS (
    SELECT booking_date FROM statement_entries WHERE vanished_at IS NULL AND statement_id = $id
), others AS (
    SELECT s.statement_id, s.file_name, s.entry_count, s.format,
        coalesce(s.from_date, s.opening_date, s.closing_date) AS first_day,
        coalesce(s.to_date, s.closing_date) AS last_day,
        w.format IN ('camt.052', 'camt.054', 'MT942') AS is_report_gone
    FROM statements AS s JOIN statements AS w ON w.statement_id = $id
    WHERE s.vanished_at IS NULL AND s.statement_id <> $id
        AND (s.account = w.account OR (s.account IS NULL AND w.account IS NULL))
), stored AS (
    SELECT statement_id, count(*) AS movements, bool_or(entry_status = 'SUPERSEDED'
        AND booking_date IN (SELECT booking_date FROM gone)) AS superseded
    FROM statement_entries WHERE vanished_at IS NULL GROUP BY statement_id
)
SELECT o.statement_id, o.file_name
FROM others AS o LEFT JOIN stored AS t ON t.statement_id = o.statement_id
WHERE EXISTS (SELECT 1 FROM gone AS g WHERE g.booking_date BETWEEN o.first_day AND o.last_day)
    AND (coalesce(t.movements, 0) < o.entry_count
        OR ((o.format IN ('camt.052', 'camt.054', 'MT942') OR o.format LIKE 'CSV%' OR o.is_report_gone)
            AND coalesce(t.superseded, FALSE)))
ORDER BY o.file_name, o.statement_id
