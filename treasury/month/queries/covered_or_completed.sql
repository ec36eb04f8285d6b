-- At most one row: it exists if balances cover the month or a request was completed in it.
SELECT 1 AS one FROM covered WHERE is_covered UNION ALL SELECT 1 AS one FROM fee_requests LIMIT 1
