-- The statements of settled lines, and what they are trusted by.
SELECT DISTINCT s.statement_id, s.proof_state
FROM counted_statements AS s
JOIN settling_lines AS l ON l.statement_id = s.statement_id
