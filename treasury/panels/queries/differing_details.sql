-- One row per request with deposit details that differ from earlier ones (see `payable_requests`), in the
-- order of the list, up to a limit. `in_all` is their number without the limit.
SELECT reference, differs, count(*) OVER () AS in_all FROM funding WHERE differs <> ''
ORDER BY number LIMIT ?
