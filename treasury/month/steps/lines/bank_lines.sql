-- One row per stored bank line of a declared account, as matching reads it. If a credit reached a virtual
-- IBAN, or a debit left one, this IBAN is the line's `account`. Superseded and withdrawn lines, lines of
-- withdrawn statements, and lines with the amount 0 are excluded. If the bank states no currency, the
-- account's only declared currency is used.
SELECT
    e.entry_id,
    e.statement_id,
    e.account AS statement_account,
    d.source,
    coalesce(v.iban, upper(replace(e.account, ' ', ''))) AS account,
    e.amount,
    coalesce(e.currency, s.currency, d.only_currency) AS currency,
    e.direction,
    e.entry_status,
    coalesce(e.is_twin, FALSE) AS is_twin,
    e.booking_date,
    e.value_date,
    e.end_to_end_id,
    array_to_string(e.structured_references, chr(10)) AS creditor_reference,
    coalesce(nullif(array_to_string(e.remittance, chr(10)), ''), e.additional_information) AS remittance,
    e.counterparty_name,
    upper(replace(e.counterparty_account, ' ', '')) AS counterparty_account,
    coalesce(e.is_reversal, FALSE) AS is_reversal,
    e.return_reason,
    CASE WHEN e.is_reversal OR e.return_reason IS NOT NULL
        THEN coalesce(e.original_end_to_end_id, e.end_to_end_id)
    END AS original_reference,
    e.bank_transaction_code,
    CASE WHEN e.charges_currency = coalesce(e.currency, s.currency, d.only_currency) THEN abs(e.charges_amount) END AS charges,
    s.proof_state AS proof,
    e.message_id,
    e.payment_information_id,
    e.additional_information,
    e.file_name,
    e.position
FROM statement_entries AS e
JOIN counted_statements AS s ON s.statement_id = e.statement_id
JOIN (
    SELECT account, source, CASE WHEN count(*) = 1 THEN min(currency) END AS only_currency
    FROM declared_accounts GROUP BY account, source
) AS d ON d.account = upper(replace(e.account, ' ', ''))
LEFT JOIN (
    SELECT DISTINCT upper(replace(iban, ' ', '')) AS iban FROM virtual_bank_accounts WHERE iban IS NOT NULL
) AS v
    ON v.iban = upper(replace(CASE e.direction WHEN 'CRDT' THEN e.creditor_account ELSE e.debtor_account END, ' ', ''))
WHERE e.amount > 0 AND coalesce(e.entry_status, 'BOOK') <> 'SUPERSEDED' AND e.vanished_at IS NULL
