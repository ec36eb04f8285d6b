-- One row per request with changed deposit details, in the order of the list, up to a limit.
SELECT reference, differs, count(*) OVER () AS in_all FROM funding WHERE differs <> ''
ORDER BY number LIMIT ?
