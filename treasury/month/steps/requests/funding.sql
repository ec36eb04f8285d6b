-- One row per request that waits for its funds, or was paid before its approval, with its state. The state is
-- PAY only under three conditions:
-- - No line has paid or may have paid the request.
-- - The statements of all own accounts in the currency cover, without a gap, the days from the approval to the
--   last finished TARGET day. Otherwise the state is CHECK BANK.
-- - The service does not call the deposit details inactive.
SELECT
    CASE
        WHEN r.vanished_at IS NOT NULL THEN 'NOT LISTED'
        WHEN r.status = 'AWAITING_APPROVAL' THEN 'PAID BEFORE APPROVAL'
        WHEN r.ramp_type = 'OFF_RAMP' AND coalesce(r.blockchain_transaction_hash, '') = '' AND r.is_inactive
            THEN 'DETAILS INACTIVE'
        WHEN r.ramp_type = 'OFF_RAMP' AND coalesce(r.blockchain_transaction_hash, '') = '' THEN 'SEND CRYPTO'
        WHEN r.ramp_type = 'OFF_RAMP' AND h.hash_of IS NOT NULL THEN 'HASH USED TWICE'
        WHEN r.ramp_type = 'OFF_RAMP' THEN 'HASH GIVEN'
        WHEN s.state = 'received' THEN 'SENT'
        WHEN s.state IN ('partly_received', 'over_received') OR f.contradiction IS NOT NULL THEN 'SENT WRONG'
        WHEN s.state = 'reopened' AND r.covers AND NOT r.is_inactive THEN 'RETURNED'
        WHEN f.pending = 0 AND f.unnamed_on IS NOT NULL THEN 'SENT WRONG'
        WHEN f.pending > 0 OR f.maybe_on IS NOT NULL THEN 'CHECK BANK'
        WHEN r.is_inactive THEN 'DETAILS INACTIVE'
        WHEN r.covers THEN 'PAY'
        ELSE 'CHECK BANK'
    END AS state,
    r.*,
    s.received,
    s.remaining,
    s.state AS received_state,
    coalesce(r.hash_given_on, q.last_received_on) AS sent_on, q.is_instant = 1 AS is_instant,
    f.contradiction, f.wrong_on, f.pending, f.maybe_on, f.unnamed_on, f.returned_on, f.came_back_of, f.return_reason,
    c.changed_on,
    h.hash_of
FROM (
    SELECT
        r.id AS request_id,
        r.ramp_type,
        r.status,
        r.vanished_at,
        r.payment_reference,
        r.fiat_amount AS fiat_gross,
        r.fiat_net_amount AS fiat_net,
        r.fiat_currency,
        r.crypto_amount AS crypto,
        r.crypto_currency,
        r.deposit_beneficiary,
        r.deposit_iban,
        r.deposit_bic,
        r.deposit_wallet_address,
        r.deposit_wallet_chain,
        NOT coalesce(
            CASE WHEN r.ramp_type = 'OFF_RAMP' THEN r.deposit_wallet_is_active ELSE r.deposit_is_active END, TRUE
        ) AS is_inactive,
        r.blockchain_transaction_hash,
        CASE WHEN r.ramp_type = 'OFF_RAMP' AND coalesce(r.blockchain_transaction_hash, '') <> ''
            THEN CAST(coalesce(r.updated_at, r.created_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE)
        END AS hash_given_on,
        r.approved_at,
        CAST(coalesce(r.approved_at, r.created_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS approved_on,
        e.covered_to AS evidence_to,
        e.account AS evidence_account,
        coalesce(
            e.covered_from <= CAST(coalesce(r.approved_at, r.created_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE)
            AND e.covered_to >= a.last_finished_day, FALSE
        ) AS covers
    FROM ramp_requests AS r
    CROSS JOIN asked AS a
    LEFT JOIN evidence_spans AS e ON e.currency = r.fiat_currency
    WHERE r.status IN ('AWAITING_FUNDS', 'AWAITING_APPROVAL')
) AS r
LEFT JOIN expectation_states AS s ON s.expectation_id = r.request_id
LEFT JOIN funding_lines AS f ON f.request_id = r.request_id
LEFT JOIN request_lines AS q ON q.request_id = r.request_id
LEFT JOIN changed_requests AS c ON c.request_id = r.request_id
LEFT JOIN (
    SELECT p.request_id, min(p.other) AS hash_of
    FROM hash_problems AS p
    WHERE p.state = 'HASH USED TWICE'
    GROUP BY p.request_id
) AS h ON h.request_id = r.request_id
WHERE r.status = 'AWAITING_FUNDS'
    OR (r.ramp_type = 'ON_RAMP' AND s.state IN ('received', 'partly_received', 'over_received'))
