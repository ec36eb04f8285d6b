-- One row per booked bank line, with its outcome and the last person who accepted or ignored it, if there is
-- one.
SELECT
    l.entry_id,
    l.booking_date,
    l.source,
    l.statement_account,
    l.account,
    l.direction,
    l.amount,
    l.currency,
    o.outcome,
    o.line_class,
    k.rule_name,
    e.kind,
    e.code AS reference,
    o.expectation_id,
    o.tier,
    o.reason,
    o.matched_amount,
    o.runner_up_id,
    o.margin,
    l.counterparty_name,
    l.counterparty_account,
    l.remittance,
    l.file_name,
    l.position,
    d.decided_by,
    d.decided_at,
    coalesce(substr(l.bank_transaction_code, 1, 9) IN ('PMNT/IRCT', 'PMNT/RRCT'), FALSE) AS is_instant
FROM bank_lines AS l
JOIN outcomes AS o ON o.entry_id = l.entry_id
LEFT JOIN line_classes AS k ON k.entry_id = l.entry_id
LEFT JOIN expectations AS e ON e.expectation_id = o.expectation_id
LEFT JOIN line_deciders AS d ON d.entry_id = l.entry_id
WHERE coalesce(l.entry_status, 'BOOK') = 'BOOK'
