-- One row per virtual account, with its details as one text, which is compared with the text at settlement.
SELECT
    id,
    concat_ws(
        '|', reference_code, array_to_string(rail_references, ','), iban, account_id, currency, CAST(created_at AS VARCHAR), status
    ) AS terms
FROM virtual_bank_accounts
