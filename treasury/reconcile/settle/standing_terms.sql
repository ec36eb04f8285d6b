-- What each code of a virtual account expects, in one text to be compared.
SELECT
    expectation_id,
    concat_ws('|', code, account, owner, currency, CAST(opened_at AS VARCHAR), CAST(closed_at AS VARCHAR), status) AS terms
FROM expectations
WHERE kind = 'virtual_bank_account'
