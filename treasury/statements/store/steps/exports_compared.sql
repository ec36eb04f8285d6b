-- One row per pair of a new CSV export and one that was stored or read before it, of the same account,
-- currency and format. Both are proved, and their days overlap or are at most $days apart. `moved` is the sum
-- of all known booked movements from the first to the last day of the two. A pair is excluded if any earlier
-- movement on these days comes from an export that is not proved.
WITH compared AS (
    SELECT b.statement_id, a.file AS known_file, a.statement_id AS known_statement_id,
        least(a.first_day, b.first_day) AS first_day, greatest(a.last_day, b.last_day) AS last_day,
        a.first_day <= b.last_day AND b.first_day <= a.last_day AS is_overlapping,
        a.statement_id = b.statement_id AS is_version,
        -- If both exports begin (or end) on the same day, either may have the outer balance.
        list_filter([CASE WHEN a.first_day <= b.first_day THEN a.opening END,
            CASE WHEN b.first_day <= a.first_day THEN b.opening END], lambda x: x IS NOT NULL) AS openings,
        list_filter([CASE WHEN a.last_day >= b.last_day THEN a.closing END,
            CASE WHEN b.last_day >= a.last_day THEN b.closing END], lambda x: x IS NOT NULL) AS closings,
        a.file_name AS known_file_name, a.currency, coalesce(a.account, '') AS known_account,
        coalesce(a.currency, '') AS known_currency
    FROM export_statements AS b
    JOIN export_statements AS a ON a.account IS NOT DISTINCT FROM b.account
        AND a.currency IS NOT DISTINCT FROM b.currency AND a.format = b.format
    WHERE b.file = $file AND a.file < b.file AND a.proved AND b.proved
        AND a.first_day <= b.last_day + $days AND b.first_day <= a.last_day + $days
), known AS (
    SELECT DISTINCT ON (k.entry_id) k.entry_id, coalesce(k.account, '') AS account,
        coalesce(k.currency, '') AS currency, k.booking_date, s.proved,
        CASE WHEN k.entry_status <> 'BOOK' THEN 0 WHEN k.direction = 'DBIT' THEN -k.amount ELSE k.amount END AS moved
    FROM known_exports AS k JOIN export_statements AS s ON s.file = k.file AND s.statement_id = k.statement_id
    ORDER BY k.entry_id, k.file
), incoming AS (
    SELECT statement_id, sum(CASE WHEN direction = 'DBIT' THEN -amount ELSE amount END) AS moved
    FROM unmatched_rows WHERE entry_status = 'BOOK' GROUP BY statement_id
)
SELECT c.statement_id, c.known_file_name, c.first_day, c.last_day, c.is_overlapping, c.is_version, c.openings, c.closings, c.currency,
    coalesce(sum(k.moved), 0) + coalesce(max(i.moved), 0) AS moved
FROM compared AS c
LEFT JOIN known AS k ON k.account = c.known_account AND k.currency = c.known_currency
    AND k.booking_date >= c.first_day AND k.booking_date <= c.last_day
LEFT JOIN incoming AS i ON i.statement_id = c.statement_id
GROUP BY ALL
HAVING coalesce(bool_and(k.proved), TRUE)
ORDER BY ALL
