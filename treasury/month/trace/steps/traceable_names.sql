-- This step is a view: its rows are not stored.
-- One row per pair of a record (request, transfer, virtual account or bank line) and a name by which it is
-- found: the letters and digits of its reference, id or transaction hash, or an account of a line.
SELECT 'request' AS kind, id, 'reference' AS found_by, regexp_replace(upper(payment_reference), '[^0-9A-Z]', '', 'g') AS name
FROM ramp_requests WHERE payment_reference IS NOT NULL
UNION ALL
SELECT 'request' AS kind, id, 'id' AS found_by, regexp_replace(upper(id), '[^0-9A-Z]', '', 'g') AS name FROM ramp_requests
UNION ALL
SELECT 'request' AS kind, id, 'hash' AS found_by, regexp_replace(upper(blockchain_transaction_hash), '[^0-9A-Z]', '', 'g') AS name
FROM ramp_requests WHERE blockchain_transaction_hash IS NOT NULL
UNION ALL
SELECT 'transfer' AS kind, id, 'id' AS found_by, regexp_replace(upper(id), '[^0-9A-Z]', '', 'g') AS name FROM transfers
UNION ALL
SELECT 'transfer' AS kind, id, 'hash' AS found_by, regexp_replace(upper(transaction_hash), '[^0-9A-Z]', '', 'g') AS name
FROM transfers WHERE transaction_hash IS NOT NULL
UNION ALL
SELECT 'virtual account' AS kind, id, 'id' AS found_by, regexp_replace(upper(id), '[^0-9A-Z]', '', 'g') AS name FROM virtual_bank_accounts
UNION ALL
SELECT 'virtual account' AS kind, id, 'reference' AS found_by, regexp_replace(upper(reference_code), '[^0-9A-Z]', '', 'g') AS name
FROM virtual_bank_accounts WHERE reference_code IS NOT NULL
UNION ALL
SELECT 'virtual account' AS kind, id, 'reference' AS found_by, regexp_replace(upper(code), '[^0-9A-Z]', '', 'g') AS name
FROM (SELECT id, unnest(rail_references) AS code FROM virtual_bank_accounts) AS rails
UNION ALL
SELECT 'line' AS kind, entry_id AS id, 'id' AS found_by, regexp_replace(upper(entry_id), '[^0-9A-Z]', '', 'g') AS name FROM bank_lines
UNION ALL
SELECT 'line' AS kind, entry_id AS id, 'reference' AS found_by, regexp_replace(upper(end_to_end_id), '[^0-9A-Z]', '', 'g') AS name
FROM bank_lines WHERE end_to_end_id IS NOT NULL
UNION ALL
SELECT 'line' AS kind, entry_id AS id, 'account' AS found_by, account AS name FROM bank_lines
UNION ALL
SELECT 'line' AS kind, entry_id AS id, 'account' AS found_by, upper(replace(statement_account, ' ', '')) AS name FROM bank_lines
UNION ALL
SELECT 'line' AS kind, entry_id AS id, 'account' AS found_by, counterparty_account AS name
FROM bank_lines WHERE counterparty_account IS NOT NULL
