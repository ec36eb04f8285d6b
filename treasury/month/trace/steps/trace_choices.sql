-- This step is a view: its rows are not stored.
-- One row per record that can be traced (request, transfer or bank line), with the date, amount and description
-- that a person sees when choosing among several.
SELECT 'request' AS kind, r.id, CAST(r.created_at AT TIME ZONE a.zone AS DATE) AS happened_on,
    CASE r.ramp_type WHEN 'ON_RAMP' THEN r.fiat_amount ELSE r.crypto_amount END AS amount,
    CASE r.ramp_type WHEN 'ON_RAMP' THEN r.fiat_currency ELSE r.crypto_currency END AS currency,
    coalesce(r.payment_reference, '') || ', ' || CASE r.ramp_type WHEN 'ON_RAMP' THEN 'on-ramp' ELSE 'off-ramp' END || ', ' || r.status AS says
FROM ramp_requests AS r CROSS JOIN asked AS a
UNION ALL
SELECT 'transfer' AS kind, t.id, CAST(coalesce(t.created_at, t.first_seen_at) AT TIME ZONE a.zone AS DATE) AS happened_on,
    coalesce(t.amount, t.fiat_amount) AS amount, coalesce(t.asset, t.fiat_currency) AS currency,
    t.kind || ' transfer, ' || t.status AS says
FROM transfers AS t CROSS JOIN asked AS a
UNION ALL
SELECT 'line' AS kind, l.entry_id AS id, l.booking_date AS happened_on, l.amount, l.currency,
    CASE l.direction WHEN 'CRDT' THEN 'in from ' ELSE 'out to ' END || coalesce(l.counterparty_name, 'no name')
        || ', ' || o.outcome || coalesce(', ' || e.code, '') AS says
FROM bank_lines AS l
JOIN outcomes AS o ON o.entry_id = l.entry_id
LEFT JOIN expectations AS e ON e.expectation_id = o.expectation_id
