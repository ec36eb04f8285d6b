-- One row per ramp request among $ids, and per request that waits for approval: its amounts, and the account to
-- which its money goes.
SELECT
    id, payment_reference AS reference, ramp_type, status, fiat_amount, fiat_net_amount, fiat_currency,
    crypto_amount, crypto_currency, upper(replace(company_bank_account_iban, ' ', '')) AS payout_account
FROM ramp_requests
WHERE vanished_at IS NULL AND (status = 'AWAITING_APPROVAL' OR id IN (SELECT unnest($ids)))
ORDER BY created_at, id
