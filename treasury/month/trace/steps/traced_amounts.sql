-- This step is a view: its rows are not stored.
-- One row per pair of a record (bank line, request or transfer) and an amount by which it can be found.
SELECT 'line' AS kind, entry_id AS id, amount, currency FROM bank_lines
UNION ALL
SELECT 'request' AS kind, id, fiat_amount AS amount, fiat_currency AS currency FROM ramp_requests WHERE fiat_amount IS NOT NULL
UNION ALL
SELECT 'request' AS kind, id, fiat_net_amount AS amount, fiat_currency AS currency FROM ramp_requests WHERE fiat_net_amount IS NOT NULL
UNION ALL
SELECT 'request' AS kind, id, crypto_amount AS amount, crypto_currency AS currency FROM ramp_requests WHERE crypto_amount IS NOT NULL
UNION ALL
SELECT 'transfer' AS kind, id, amount, asset AS currency FROM transfers WHERE amount IS NOT NULL
UNION ALL
SELECT 'transfer' AS kind, id, fiat_amount AS amount, fiat_currency AS currency FROM transfers WHERE fiat_amount IS NOT NULL
