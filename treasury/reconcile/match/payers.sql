-- Unplaced payments, and what their counterparty is known for from an earlier line; of very much what it was known for
-- last.
SELECT
    u.entry_id, u.account, u.amount, u.currency, u.direction, u.booking_date, u.counterparty_account,
    p.party, k.kind, k.tie
FROM unplaced AS u
JOIN line_parties AS p ON p.entry_id = u.entry_id
JOIN (
    SELECT party, kind, tie, since, row_number() OVER (PARTITION BY party ORDER BY since DESC, kind, tie) AS turn
    FROM known_counterparties
) AS k ON k.party = p.party AND k.since < u.booking_date
CROSS JOIN rules AS r
WHERE k.turn <= r.max_same_code AND u.return_reason IS NULL AND NOT coalesce(u.is_reversal, FALSE)
