-- One row per pair of a payment in `unplaced_lines` and a group of expectations (`kind` and `tie`, see
-- `known_counterparties`), if an earlier payment made the payment's counterparty known for this group. If a
-- counterparty is known for more than `max_same_code` groups, only those for which it became known last are
-- included. The days are compared by their difference, so that the join needs only the equality of the
-- counterparties.
SELECT
    u.entry_id, u.account, u.amount, u.currency, u.direction, u.booking_date, u.counterparty_account,
    u.party, k.kind, k.tie
FROM unplaced_lines AS u
JOIN (
    SELECT party, kind, tie, since, row_number() OVER (PARTITION BY party ORDER BY since DESC, kind, tie) AS turn
    FROM known_counterparties
) AS k ON k.party = u.party AND date_diff('day', k.since, u.booking_date) > 0
CROSS JOIN rules AS r
WHERE k.turn <= r.max_same_code AND u.return_reason IS NULL AND NOT coalesce(u.is_reversal, FALSE)
