-- One row per record in the table `wanted`, with the date, amount and description that a person sees when
-- choosing among several. A virtual account is replaced by the lines that are assigned to it or reached its
-- IBAN. Lines of a wanted request are excluded.
SELECT c.kind, c.id, c.happened_on, c.amount, c.currency, c.says
FROM trace_choices AS c
LEFT JOIN every_line AS l ON l.entry_id = CASE WHEN c.kind = 'line' THEN c.id END
WHERE (
        EXISTS (SELECT 1 FROM wanted AS w WHERE w.kind = c.kind AND w.id = c.id)
        OR EXISTS (
            SELECT 1 FROM wanted AS w JOIN virtual_bank_accounts AS v ON v.id = w.id
            WHERE w.kind = 'virtual account' AND split_part(l.expectation_id, '/', 1) = v.id
        )
        OR EXISTS (
            SELECT 1 FROM wanted AS w JOIN virtual_bank_accounts AS v ON v.id = w.id
            WHERE w.kind = 'virtual account' AND l.account = upper(replace(v.iban, ' ', ''))
        )
    )
    AND NOT EXISTS (SELECT 1 FROM wanted AS w WHERE w.kind = 'request' AND w.id = l.expectation_id)
ORDER BY c.happened_on DESC, c.kind, c.id
