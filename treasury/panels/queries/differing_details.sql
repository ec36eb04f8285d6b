-- One row per request with changed deposit details, in the list's order, up to a limit. Not stored.
SELECT reference, differs, count(*) OVER () AS in_all FROM funding WHERE differs <> ''
ORDER BY number LIMIT ?
