-- What is still expected of each expectation that money may still come for: the whole amount or the rest; of a
-- standing one, anything. `turn` numbers those that are alike in everything that a payment shows.
SELECT
    e.expectation_id, e.kind, e.account, e.currency, e.direction, e.amount AS expected,
    coalesce(e.account, CASE WHEN e.amount IS NULL THEN e.expectation_id END, '') AS tie,
    e.counterparty_account, e.counterparty_name,
    CAST(e.opened_at AS DATE) AS opened_on,
    CAST(e.closed_at AS DATE) AS closed_on,
    CAST(e.amount - coalesce(t.received, 0) AS DECIMAL(38, 18)) AS remaining,
    row_number() OVER (
        PARTITION BY e.kind, e.account, e.currency, e.direction, e.amount - coalesce(t.received, 0), CAST(e.opened_at AS DATE)
        ORDER BY e.expectation_id
    ) AS turn
FROM expectations AS e
ANTI JOIN (SELECT expectation_id FROM received_totals WHERE received >= expected) AS f ON f.expectation_id = e.expectation_id
LEFT JOIN (
    SELECT expectation_id, received FROM received_totals WHERE expected IS NULL OR received < expected
) AS t ON t.expectation_id = e.expectation_id
LEFT JOIN closed_statuses AS x ON x.status = e.status
WHERE x.status IS NULL AND (e.amount IS NULL OR e.amount > coalesce(t.received, 0))
