-- One row per debit booked on or after the day $since, with each field in which a bank may name a payment
-- file. `is_certain`: the statement is proved, and the debit is not a return and has no identical line.
SELECT e.entry_id, e.booking_date, e.amount, coalesce(e.currency, s.currency) AS currency,
    upper(replace(e.account, ' ', '')) AS account, e.message_id, e.payment_information_id,
    e.end_to_end_id, array_to_string(e.structured_references, chr(10)) AS creditor_reference,
    array_to_string(e.remittance, chr(10)) AS remittance, e.additional_information,
    s.proved AND NOT coalesce(e.is_reversal OR e.is_twin, FALSE) AND e.return_reason IS NULL
        AS is_certain
FROM statement_entries AS e
JOIN statements AS s ON s.statement_id = e.statement_id
WHERE s.vanished_at IS NULL AND e.vanished_at IS NULL AND e.direction = 'DBIT' AND e.amount > 0
    AND coalesce(e.entry_status, 'BOOK') = 'BOOK' AND e.booking_date >= $since
ORDER BY e.entry_id
