-- This step is a view: its rows are not stored.
-- One row per expectation, with its state, the amount received, the remaining amount and its last line. The
-- README of this folder explains the states.
SELECT
    expectation.expectation_id,
    CASE
        WHEN expectation.amount IS NULL AND closed.status IS NULL AND expectation.closed_at IS NULL THEN 'standing'
        WHEN coalesce(grand_total.received, 0) > expectation.amount THEN 'over_received'
        WHEN grand_total.received = expectation.amount THEN 'received'
        WHEN (closed.status IS NOT NULL OR expectation.closed_at IS NOT NULL)
            AND (grand_total.received IS NULL OR expectation.amount IS NULL) THEN 'closed'
        WHEN last_return.last_date >= coalesce(grand_total.last_date, last_return.last_date) THEN 'reopened'
        WHEN grand_total.received > 0 THEN 'partly_received'
        ELSE 'open'
    END AS state,
    coalesce(grand_total.received, CAST(0 AS DECIMAL(38, 18))) AS received,
    CASE WHEN expectation.amount IS NOT NULL
        THEN greatest(expectation.amount - coalesce(grand_total.received, 0), CAST(0 AS DECIMAL(38, 18)))
    END AS remaining,
    grand_total.last_entry_id
FROM expectations AS expectation
LEFT JOIN grand_totals AS grand_total ON grand_total.expectation_id = expectation.expectation_id
LEFT JOIN (
    SELECT expectation_id, max(booking_date) AS last_date
    FROM returned_expectations GROUP BY expectation_id
) AS last_return ON last_return.expectation_id = expectation.expectation_id
LEFT JOIN closed_statuses AS closed ON closed.status = expectation.status
