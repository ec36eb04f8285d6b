-- Who has paid, or was paid, under a whole reference or an accepted decision for the same kind of
-- expectation on the same account, and since when.
SELECT e.kind, coalesce(e.account, '') AS account, k.counterparty, min(l.booking_date) AS since
FROM received AS r
JOIN expectations AS e ON e.expectation_id = r.expectation_id
JOIN lines AS l ON l.entry_id = r.entry_id
JOIN (
    SELECT entry_id, upper(replace(coalesce(counterparty_account, counterparty_name), ' ', '')) AS counterparty
    FROM lines
) AS k ON k.entry_id = l.entry_id
WHERE k.counterparty <> ''
GROUP BY e.kind, coalesce(e.account, ''), k.counterparty
