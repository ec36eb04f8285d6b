-- One row per virtual account, with its details as one text. The text is compared with that of the day on
-- which months were settled.
SELECT
    id,
    concat_ws(
        '|', reference_code, array_to_string(rail_references, ','), iban, account_id, currency, CAST(created_at AS VARCHAR), status
    ) AS terms
FROM virtual_bank_accounts
