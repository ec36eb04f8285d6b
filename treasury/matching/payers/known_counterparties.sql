-- Who has paid, or was paid, under a whole reference or an accepted decision for the same kind of
-- expectation on the same account, and since when, settled lines included. A standing expectation without an account
-- knows only its own.
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
