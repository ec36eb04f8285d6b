-- One row per changed fact on which settled lines depend: the proof of a statement, the details of a virtual
-- account, or a decision about a settled line. (A settled line belongs to a closed month, and matching no
-- longer reads it.) A removed fact is a change, and so is a new decision about a settled line. New statements
-- and virtual accounts are not listed. A changed decision has two equal rows.
SELECT 'statement' AS what, s.statement_id AS id
FROM settled_statements AS s
LEFT JOIN counted_statements AS t ON t.statement_id = s.statement_id AND t.proof_state = s.proof_state
WHERE t.statement_id IS NULL
UNION ALL
SELECT 'virtual account' AS what, s.id
FROM settled_standing AS s
LEFT JOIN standing_terms AS t ON t.id = s.id AND t.terms = s.terms
WHERE t.id IS NULL
UNION ALL
SELECT 'decision' AS what, s.entry_id AS id
FROM settled_verdicts AS s
LEFT JOIN verdict_terms AS v ON v.entry_id = s.entry_id AND v.terms = s.terms
WHERE v.entry_id IS NULL
UNION ALL
SELECT 'decision' AS what, v.entry_id AS id
FROM (
    SELECT t.entry_id
    FROM verdict_terms AS t
    LEFT JOIN settled_verdicts AS s ON s.entry_id = t.entry_id AND s.terms = t.terms
    WHERE s.entry_id IS NULL
) AS v
JOIN settled_lines AS l ON l.entry_id = v.entry_id
