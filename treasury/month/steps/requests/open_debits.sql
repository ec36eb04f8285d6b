-- One row per debit with a purpose that is not fully known, with each field in which a bank may name a payment
-- file. The debit needs a decision; or a class rule excluded it, and no person did; or its amount exceeds what
-- expectations received from it and what was returned.
SELECT
    l.entry_id,
    l.booking_date,
    l.amount,
    o.line_class,
    l.statement_account,
    l.message_id,
    l.payment_information_id,
    l.end_to_end_id,
    l.creditor_reference,
    l.remittance,
    l.additional_information
FROM bank_lines AS l
JOIN outcomes AS o ON o.entry_id = l.entry_id
LEFT JOIN ignored_lines AS i ON i.entry_id = l.entry_id
LEFT JOIN (
    SELECT original_id, CAST(sum(amount) AS DECIMAL(38, 18)) AS amount
    FROM linked_returns
    WHERE expectation_id <> ''
    GROUP BY original_id
) AS r ON r.original_id = l.entry_id
WHERE l.direction = 'DBIT'
    AND (
        o.outcome IN ('suggested', 'conflict', 'unreferenced')
        OR (o.line_class IS NOT NULL AND i.entry_id IS NULL)
        OR (o.outcome = 'matched' AND l.amount > o.matched_amount + coalesce(r.amount, 0))
    )
