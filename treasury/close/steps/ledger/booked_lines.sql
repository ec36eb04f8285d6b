-- One row per booked bank line of any month, with the texts in which it may name a posting of the books.
SELECT
    entry_id, statement_account, currency, booking_date, direction, amount, counterparty_name, remittance,
    concat_ws(' ', end_to_end_id, creditor_reference, remittance, message_id, payment_information_id) AS texts
FROM bank_lines
WHERE coalesce(entry_status, 'BOOK') = 'BOOK' AND booking_date IS NOT NULL
ORDER BY booking_date, entry_id
