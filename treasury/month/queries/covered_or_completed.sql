-- At most one row: it exists if proved statements cover the whole month for any account, or if a request was
-- completed in the month.
SELECT 1 AS one FROM covered WHERE is_covered UNION ALL SELECT 1 AS one FROM fee_requests LIMIT 1
