-- Families of which a record has changed or gone since their close, that a decision made since names, or whose
-- counterparty is an account declared since.
WITH lines_there AS (
    SELECT e.family
    FROM stored_lines AS e
    JOIN settled_closes AS c ON c.close = e.close
    JOIN statements AS t ON t.statement_id = e.statement_id
    WHERE e.valid_from <= c.known_at AND t.valid_from <= c.known_at
),
requests_there AS (
    SELECT r.family
    FROM stored_requests AS r
    JOIN settled_closes AS c ON c.close = r.close
    WHERE r.valid_from <= c.known_at
)
SELECT s.family
FROM (SELECT family, count(*) AS members FROM settled_lines GROUP BY family) AS s
LEFT JOIN (SELECT family, count(*) AS members FROM lines_there GROUP BY family) AS e ON e.family = s.family
WHERE e.members IS NULL OR e.members <> s.members
UNION
SELECT s.family
FROM (SELECT family, count(*) AS members FROM settled_requests GROUP BY family) AS s
LEFT JOIN (SELECT family, count(*) AS members FROM requests_there GROUP BY family) AS r ON r.family = s.family
WHERE r.members IS NULL OR r.members <> s.members
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
