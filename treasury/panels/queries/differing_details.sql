-- The first requests whose deposit details differ, in the list's order, one row each. Not stored.
SELECT reference, differs, count(*) OVER () AS in_all FROM funding WHERE differs <> ''
ORDER BY number LIMIT ?
