-- read through
-- Where each expectation stands: what it received, what remains, its last line.
SELECT
    e.expectation_id,
    CASE
        WHEN e.amount IS NULL AND x.status IS NULL AND e.closed_at IS NULL THEN 'standing'
        WHEN coalesce(t.received, 0) > e.amount THEN 'over_received'
        WHEN t.received = e.amount THEN 'received'
        WHEN (x.status IS NOT NULL OR e.closed_at IS NOT NULL) AND (t.received IS NULL OR e.amount IS NULL) THEN 'closed'
        WHEN b.last_date >= coalesce(t.last_date, b.last_date) THEN 'reopened'
        WHEN t.received > 0 THEN 'partly_received'
        ELSE 'open'
    END AS state,
    coalesce(t.received, CAST(0 AS DECIMAL(38, 18))) AS received,
    CASE WHEN e.amount IS NOT NULL
        THEN greatest(e.amount - coalesce(t.received, 0), CAST(0 AS DECIMAL(38, 18)))
    END AS remaining,
    t.last_entry_id
FROM expectations AS e
LEFT JOIN grand_totals AS t ON t.expectation_id = e.expectation_id
LEFT JOIN (
    SELECT expectation_id, max(booking_date) AS last_date
    FROM returned_expectations GROUP BY expectation_id
) AS b ON b.expectation_id = e.expectation_id
LEFT JOIN closed_statuses AS x ON x.status = e.status
