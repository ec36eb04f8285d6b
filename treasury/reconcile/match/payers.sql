-- Unplaced payments, and what their counterparty is known for from an earlier line.
SELECT
    u.entry_id, u.account, u.amount, u.currency, u.direction, u.booking_date, u.counterparty_account,
    p.party, k.kind, k.tie
FROM unplaced AS u
JOIN line_parties AS p ON p.entry_id = u.entry_id
JOIN known_counterparties AS k ON k.party = p.party AND k.since < u.booking_date
WHERE u.return_reason IS NULL AND NOT coalesce(u.is_reversal, FALSE)
