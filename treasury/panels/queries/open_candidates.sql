-- One row per pair of an open bank line and a candidate (see `open_lines`).
SELECT c.entry_id, c.expectation_id, c.rank, c.score, c.reason, c.lost, e.kind, e.code, e.amount,
    e.currency, e.direction, e.account, e.counterparty_account, e.opened_at, e.status, s.state,
    s.received, s.remaining
FROM candidates AS c
JOIN open_lines USING (entry_id)
JOIN expectations AS e ON e.expectation_id = c.expectation_id
JOIN states AS s ON s.expectation_id = c.expectation_id
