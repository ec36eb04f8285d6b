-- One row per account (`tie`), kind of expectation, and party that paid or was paid for an expectation of this
-- kind, with the first day. A payment counts if it has a whole reference or an accepted decision. Settled lines
-- are included. For a standing expectation without an account, `tie` is the expectation's own id.
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
