-- Families that an unsettled line may belong to by its facts: money that comes back, by its reference or as much the
-- other way with the same counterparty; a transfer of our own of as much; a decision about it that names the request;
-- a transaction hash that is used again. And of each account without an unsettled line one, so that it is still known as an account of ours.
WITH coming_back AS (
    SELECT DISTINCT upper(trim(coalesce(original_reference, end_to_end_id, ''))) AS reference
    FROM lines
    WHERE is_reversal OR return_reason IS NOT NULL
        OR entry_id IN (SELECT entry_id FROM decisions WHERE verdict = 'accept')
),
given AS (
    SELECT DISTINCT upper(trim(end_to_end_id)) AS reference FROM lines WHERE coalesce(trim(end_to_end_id), '') <> ''
)
SELECT s.family
FROM coming_back AS m JOIN settled_lines AS s ON s.reference = m.reference
WHERE m.reference <> ''
UNION
SELECT s.family FROM given AS g JOIN settled_lines AS s ON s.brings_back = g.reference
UNION
SELECT s.family
FROM lines AS l
CROSS JOIN rules AS u
JOIN line_parties AS p ON p.entry_id = l.entry_id
JOIN settled_lines AS s
    ON s.account = l.account AND s.currency = l.currency AND s.amount = l.amount AND s.party = p.party
WHERE s.direction <> l.direction
    AND abs(date_diff('day', s.booking_date, l.booking_date)) <= u.window_days
UNION
SELECT s.family
FROM lines AS l
JOIN (SELECT DISTINCT account FROM declared_accounts) AS d ON d.account = l.counterparty_account
JOIN settled_lines AS s ON s.currency = l.currency AND s.amount = l.amount
WHERE s.is_leg AND s.booking_date >= l.booking_date
UNION
SELECT s.family
FROM decisions AS d
JOIN lines AS l ON l.entry_id = d.entry_id
JOIN settled_requests AS s ON s.expectation_id = d.expectation_id
UNION
SELECT s.family
FROM hash_uses AS h
JOIN settled_requests AS s ON s.hash_digest = substr(md5(h.hash_key), 1, 12)
UNION
SELECT s.family
FROM settled_accounts AS s
LEFT JOIN (SELECT DISTINCT account FROM lines) AS l ON l.account = s.account
WHERE l.account IS NULL
