-- One row per debit of an own bank account that may have been returned, with the day of the return. The debit
-- is matched, a conflict or a duplicate. The return is the first credit, on or after the day of the debit,
-- with the same account, currency, amount and counterparty. It has no class and is not matched, ignored,
-- returned or a duplicate.
SELECT d.entry_id, min(c.booking_date) AS refunded_on
FROM every_line AS d
JOIN every_line AS c
    ON c.statement_account = d.statement_account AND c.currency = d.currency AND c.amount = d.amount
    AND c.counterparty_account = d.counterparty_account
    AND c.booking_date >= d.booking_date
WHERE d.direction = 'DBIT' AND d.source = 'own_bank' AND d.outcome IN ('matched', 'conflict', 'duplicate')
    AND c.direction = 'CRDT' AND c.line_class IS NULL
    AND c.outcome IN ('suggested', 'unreferenced', 'conflict')
GROUP BY d.entry_id
