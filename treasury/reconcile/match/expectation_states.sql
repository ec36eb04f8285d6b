-- Where each expectation stands: what it received, what remains, its last line.
SELECT
    e.expectation_id,
    CASE
        WHEN e.amount IS NULL AND x.status IS NULL THEN 'standing'
        WHEN received > e.amount THEN 'over_received'
        WHEN received = e.amount THEN 'received'
        WHEN received > 0 AND e.amount IS NOT NULL THEN 'partly_received'
        WHEN x.status IS NOT NULL THEN 'closed'
        WHEN came_back > 0 THEN 'reopened'
        ELSE 'open'
    END AS state,
    received,
    CASE WHEN e.amount IS NOT NULL
        THEN greatest(e.amount - received, CAST(0 AS DECIMAL(38, 18)))
    END AS remaining,
    last_entry_id
FROM (
    SELECT
        e.expectation_id,
        coalesce(
            CAST(sum(r.amount) FILTER (WHERE NOT r.is_duplicate) AS DECIMAL(38, 18)),
            CAST(0 AS DECIMAL(38, 18))
        ) AS received,
        max(CASE WHEN r.is_last THEN r.entry_id END) AS last_entry_id,
        coalesce(max(b.came_back), 0) AS came_back
    FROM expectations AS e
    LEFT JOIN (
        SELECT
            *,
            row_number() OVER (
                PARTITION BY expectation_id, is_duplicate ORDER BY booking_date DESC, entry_id DESC
            ) = 1 AND NOT is_duplicate AS is_last
        FROM received
    ) AS r ON r.expectation_id = e.expectation_id
    LEFT JOIN (
        SELECT p.expectation_id, count(*) AS came_back
        FROM returns AS b
        JOIN pairs AS p ON p.entry_id = b.original_id
        GROUP BY p.expectation_id
    ) AS b ON b.expectation_id = e.expectation_id
    GROUP BY e.expectation_id
) AS totals
JOIN expectations AS e ON e.expectation_id = totals.expectation_id
LEFT JOIN contradicting_statuses AS x ON x.status = replace(upper(e.status), '-', '_')
