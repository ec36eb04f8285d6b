-- One row per booked movement of an account since $since, in which an expected flow may be seen; debits are
-- negative.
SELECT
    upper(replace(e.account, ' ', '')) AS account,
    coalesce(e.currency, s.currency) AS currency,
    e.booking_date,
    CASE e.direction WHEN 'CRDT' THEN e.amount ELSE -e.amount END AS amount
FROM statement_entries AS e
JOIN statements AS s ON s.statement_id = e.statement_id
WHERE e.vanished_at IS NULL AND s.vanished_at IS NULL AND coalesce(e.entry_status, 'BOOK') = 'BOOK'
    AND e.booking_date >= $since AND e.amount IS NOT NULL
ORDER BY e.booking_date, e.entry_id
