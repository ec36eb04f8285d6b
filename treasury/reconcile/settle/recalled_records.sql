-- Families of which a record has changed or gone since their close, that a decision made since names, or whose
-- counterparty is an account declared since.
SELECT s.family
FROM settled_lines AS s
JOIN settled_closes AS c ON c.close = s.close
LEFT JOIN statement_entries AS e ON e.entry_id = s.entry_id
LEFT JOIN statements AS t ON t.statement_id = e.statement_id
WHERE e.entry_id IS NULL OR t.statement_id IS NULL OR e.valid_from > c.known_at OR t.valid_from > c.known_at
UNION
SELECT s.family
FROM settled_requests AS s
JOIN settled_closes AS c ON c.close = s.close
LEFT JOIN ramp_requests AS r ON r.id = s.expectation_id
WHERE r.id IS NULL OR r.valid_from > c.known_at
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
