-- What is not as it was settled: an event that was stored since, a statement's proof, what a virtual account expects, or
-- a decision about a settled line; none where all that is settled stands. Lines and requests themselves are counted.
SELECT 'event' AS what, v.id
FROM ramp_request_events AS v
JOIN settled_requests AS s ON s.expectation_id = v.ramp_request_id
WHERE v.valid_from > (SELECT known_at FROM settled_state)
UNION ALL
SELECT 'statement' AS what, s.statement_id AS id
FROM settled_statements AS s
LEFT JOIN counted_statements AS t ON t.statement_id = s.statement_id AND t.proof_state = s.proof_state
WHERE t.statement_id IS NULL
UNION ALL
SELECT 'virtual account' AS what, s.expectation_id AS id
FROM settled_standing AS s
LEFT JOIN standing_terms AS e ON e.expectation_id = s.expectation_id AND e.terms = s.terms
WHERE e.expectation_id IS NULL
UNION ALL
SELECT 'decision' AS what, d.entry_id AS id
FROM settled_verdicts AS d
LEFT JOIN verdicts AS n ON n.entry_id = d.entry_id AND n.terms = d.terms
WHERE n.entry_id IS NULL
UNION ALL
SELECT 'decision' AS what, n.entry_id AS id
FROM verdicts AS n
JOIN settled_lines AS s ON s.entry_id = n.entry_id
LEFT JOIN settled_verdicts AS d ON d.entry_id = n.entry_id AND d.terms = n.terms
WHERE d.entry_id IS NULL
