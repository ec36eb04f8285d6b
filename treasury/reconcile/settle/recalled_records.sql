-- Families of which a record has changed or gone since their close, that a decision made since names, or whose
-- counterparty is an account declared since.
SELECT e.family
FROM stored_lines AS e
JOIN settled_closes AS c ON c.close = e.close
LEFT JOIN statements AS t ON t.statement_id = e.statement_id
WHERE e.valid_from > c.known_at OR t.statement_id IS NULL OR t.valid_from > c.known_at
UNION
SELECT r.family
FROM stored_requests AS r
JOIN settled_closes AS c ON c.close = r.close
WHERE r.valid_from > c.known_at
UNION
SELECT family FROM lost_records
UNION
SELECT s.family
FROM ramp_request_events AS v
JOIN settled_requests AS s ON s.expectation_id = v.ramp_request_id
JOIN settled_closes AS c ON c.close = s.close
WHERE v.valid_from > c.known_at
UNION
SELECT s.family FROM named_since AS n JOIN settled_lines AS s ON s.entry_id = n.id WHERE n.seq > s.close
UNION
SELECT s.family FROM named_since AS n JOIN settled_requests AS s ON s.expectation_id = n.id WHERE n.seq > s.close
UNION
SELECT s.family
FROM declared_since AS d
JOIN settled_lines AS s ON s.counterparty_account = d.account AND s.close = d.close
