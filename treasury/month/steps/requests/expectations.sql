-- One row per expectation: the code of a virtual account, a further code under which banks deposit to it, or a
-- ramp request with a known amount. The id of a further code is the virtual account's id, a slash and the code.
-- An on-ramp request expects a debit of its gross amount, an off-ramp request a credit of its net amount. The
-- owner of a virtual account's codes is the account of its holder.
SELECT
    id AS expectation_id, 'virtual_bank_account' AS kind, reference_code AS code,
    upper(replace(iban, ' ', '')) AS account, CAST(NULL AS VARCHAR) AS counterparty_account,
    CAST(NULL AS VARCHAR) AS counterparty_name, account_id AS owner,
    CAST(NULL AS DECIMAL(38, 18)) AS amount, currency, 'CRDT' AS direction,
    created_at AS opened_at, CAST(NULL AS TIMESTAMPTZ) AS closed_at, status
FROM virtual_bank_accounts
UNION ALL
SELECT
    concat(id, '/', code) AS expectation_id, 'virtual_bank_account' AS kind, code,
    upper(replace(iban, ' ', '')) AS account, CAST(NULL AS VARCHAR) AS counterparty_account,
    CAST(NULL AS VARCHAR) AS counterparty_name, account_id AS owner,
    CAST(NULL AS DECIMAL(38, 18)) AS amount, currency, 'CRDT' AS direction,
    created_at AS opened_at, CAST(NULL AS TIMESTAMPTZ) AS closed_at, status
FROM (SELECT id, account_id, iban, currency, created_at, status, unnest(rail_references) AS code FROM virtual_bank_accounts) AS rails
UNION ALL
SELECT
    id AS expectation_id, 'on_ramp' AS kind, payment_reference AS code,
    CAST(NULL AS VARCHAR) AS account, upper(replace(deposit_iban, ' ', '')) AS counterparty_account,
    CAST(NULL AS VARCHAR) AS counterparty_name, CAST(NULL AS VARCHAR) AS owner,
    fiat_amount AS amount, fiat_currency AS currency, 'DBIT' AS direction,
    created_at AS opened_at, CAST(NULL AS TIMESTAMPTZ) AS closed_at, status
FROM ramp_requests
WHERE ramp_type = 'ON_RAMP' AND fiat_amount IS NOT NULL
UNION ALL
SELECT
    id AS expectation_id, 'off_ramp' AS kind, payment_reference AS code,
    upper(replace(company_bank_account_iban, ' ', '')) AS account, CAST(NULL AS VARCHAR) AS counterparty_account,
    CAST(NULL AS VARCHAR) AS counterparty_name, CAST(NULL AS VARCHAR) AS owner,
    fiat_net_amount AS amount, fiat_currency AS currency, 'CRDT' AS direction,
    created_at AS opened_at, CAST(NULL AS TIMESTAMPTZ) AS closed_at, status
FROM ramp_requests
WHERE ramp_type = 'OFF_RAMP' AND fiat_net_amount IS NOT NULL
