-- One row per off-ramp request among $ids, with its net amount. `is_owed`: the request was completed before
-- $end, so the amount is owed to us.
SELECT id AS request_id, coalesce(nullif(payment_reference, ''), id) AS reference,
    company_bank_account_iban AS account, fiat_currency AS currency, fiat_net_amount AS amount,
    coalesce(completed_at < $end, FALSE) AS is_owed
FROM ramp_requests WHERE ramp_type = 'OFF_RAMP' AND id IN (SELECT unnest($ids))
ORDER BY payment_reference, id
