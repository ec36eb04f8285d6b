-- One row per line to which a class rule applies, with the first such rule. A line with a whole or structured
-- reference has no class, because a rule must not hide a payment. A return has no class either. The payer of a
-- credit writes its text, so a rule about texts applies to a credit only if it also requires the bank's
-- transaction code or the payer's account.
SELECT l.entry_id, r.name AS rule_name, r.line_class
FROM (
    SELECT b.*
    FROM bank_lines AS b
    WHERE NOT b.is_reversal AND b.return_reason IS NULL
        AND NOT EXISTS (SELECT 1 FROM whole_references AS w WHERE w.entry_id = b.entry_id)
) AS l
JOIN class_rules AS r
    ON (r.source IS NULL OR r.source = l.source)
    AND (r.account IS NULL OR r.account = l.account)
    AND (r.direction IS NULL OR r.direction = l.direction)
    AND (r.bank_transaction_code IS NULL
        OR regexp_matches(coalesce(l.bank_transaction_code, ''), '^(?:' || r.bank_transaction_code || ')'))
    AND (r.counterparty_account IS NULL OR r.counterparty_account = l.counterparty_account)
    AND (r.counterparty_name IS NULL
        OR regexp_matches(coalesce(l.counterparty_name, ''), '(?i)' || r.counterparty_name))
    AND (r.remittance IS NULL OR regexp_matches(coalesce(l.remittance, ''), '(?i)' || r.remittance))
WHERE l.direction = 'DBIT' OR r.meets_credits
QUALIFY row_number() OVER (PARTITION BY l.entry_id ORDER BY r.turn) = 1
