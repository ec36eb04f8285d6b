-- One row per statement with a settled line, with the state of its proof.
SELECT DISTINCT s.statement_id, s.proof_state
FROM counted_statements AS s
JOIN settling_lines AS l ON l.statement_id = s.statement_id
