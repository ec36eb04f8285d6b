-- One row per combination of a line, a question, and a reason why a person has to decide about the line. The
-- steps in the FROM clauses find the reasons. Question 6 raises no doubt if the line's payer was known for the
-- expectation before. Three of the reasons belong to no question (null): two from `text_doubts`, and an earlier
-- line that names the code together with others and is their exact sum. `line_doubts` adds requests that are
-- already fully paid.
SELECT DISTINCT o.entry_id, o.question, 'the text may also read ' || e.code AS why
FROM other_readings AS o
JOIN expectations AS e ON e.expectation_id = o.expectation_id
UNION
SELECT entry_id, question, why FROM text_doubts
UNION
SELECT s.entry_id, 4 AS question, e.code || ', one slip away, expects exactly this amount' AS why
FROM slip_candidates AS s
JOIN expectations AS e ON e.expectation_id = s.expectation_id
UNION
SELECT o.entry_id, 4 AS question, 'it is more than what remains, from a payer who is not known for it' AS why
FROM overpaying_lines AS o
LEFT JOIN earlier_payments AS b ON b.entry_id = o.entry_id
CROSS JOIN rules AS u
WHERE b.amount IS NULL OR o.amount > greatest(o.expected - b.amount, CAST(0 AS DECIMAL(38, 18))) + u.over_tolerance
UNION
SELECT v.entry_id, CAST(NULL AS INTEGER) AS question, 'an earlier line names ' || e.code || ' beside others, and is exactly what they expect together' AS why
FROM provisional_pairs AS v
JOIN named_sums AS s ON s.expectation_id = v.expectation_id
JOIN expectations AS e ON e.expectation_id = v.expectation_id
WHERE v.accepted_reason IS NULL
    AND (s.booking_date < v.booking_date OR (s.booking_date = v.booking_date AND s.entry_id < v.entry_id))
UNION
SELECT entry_id, 5 AS question, why FROM other_payers
UNION
SELECT u.entry_id, 6 AS question, 'it may be no reference at all' AS why
FROM unlikely_references AS u
JOIN line_parties AS l ON l.entry_id = u.entry_id
LEFT JOIN known_payers AS k
    ON k.expectation_id = u.expectation_id AND k.party = l.party AND k.since < l.booking_date
WHERE k.party IS NULL
UNION
SELECT r.entry_id, 7 AS question, e.code || ', ' || r.tie || ', expects exactly this amount' AS why
FROM rival_requests AS r
JOIN expectations AS e ON e.expectation_id = r.expectation_id
