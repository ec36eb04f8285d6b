-- One row per combination of a kind of expectation, the expectation's account (`tie`), and the counterparty of
-- a settled line, with the day of the first such line.
SELECT e.kind, coalesce(e.account, '') AS tie, l.party, min(l.booking_date) AS since
FROM settling_lines AS l
JOIN expectations AS e ON e.expectation_id = l.expectation_id
WHERE l.party IS NOT NULL
GROUP BY e.kind, coalesce(e.account, ''), l.party
