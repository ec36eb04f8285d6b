-- One row per account, currency and day with booked lines, with their sum, in which debits are negative.
SELECT
    e.account, coalesce(e.currency, s.currency) AS currency, e.booking_date,
    CAST(sum(CASE e.direction WHEN 'CRDT' THEN e.amount ELSE -e.amount END) AS DECIMAL(38, 18)) AS moved
FROM statement_entries AS e
JOIN statements AS s ON s.statement_id = e.statement_id
WHERE e.vanished_at IS NULL AND s.vanished_at IS NULL AND coalesce(e.entry_status, 'BOOK') = 'BOOK'
GROUP BY ALL
ORDER BY ALL
