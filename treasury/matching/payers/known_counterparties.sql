-- One row per pair of a group of expectations and a counterparty with a payment for one of them, with the day of
-- the first payment (`since`). The expectations of a group have the same `kind` and account. `tie` is the
-- account. For an expectation without an account, `tie` is its own id if it takes any amount, and empty
-- otherwise.
--
-- A payment counts if it has a whole or structured reference without a doubt, or if a person accepted it.
-- Payments in closed months are included.
SELECT kind, tie, party, min(since) AS since
FROM (
    SELECT
        e.kind,
        coalesce(e.account, CASE WHEN e.amount IS NULL THEN e.expectation_id END, '') AS tie,
        k.party,
        r.booking_date AS since
    FROM received_shares AS r
    JOIN expectations AS e ON e.expectation_id = r.expectation_id
    JOIN line_parties AS k ON k.entry_id = r.entry_id AND k.party IS NOT NULL
    UNION ALL
    SELECT kind, tie, party, since FROM settled_counterparties
) AS payments
GROUP BY kind, tie, party
