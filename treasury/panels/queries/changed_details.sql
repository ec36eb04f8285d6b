-- Details that differ from the first or the last paid ones, one row a change. Not stored.
SELECT was, now, name, list_sort(list(id)) AS ids
FROM (
    SELECT o.id, {before} AS was, {open} AS now, NULL AS name
    FROM open AS o JOIN before AS b ON b.id = o.id
    UNION ALL
    SELECT o.id, {paid}, {open}, coalesce(p.name, '')
    FROM open AS o JOIN paid AS p ON p.ramp_type = o.ramp_type AND p.line = o.line
)
WHERE was IS DISTINCT FROM now
GROUP BY was, now, name
