-- One row per amount of a booked debit that paid, should have paid or may pay for an on-ramp request.
-- `standing` is the state of the payment:
-- - `sent`: it is matched to the request, or was before it was returned.
-- - `above`: it exceeds what the request expected.
-- - `closed`, `elsewhere`, `twice`: it was paid to a closed request, to another account, or twice.
-- - `contradicted`: it contradicts the request in another way.
-- - `undecided`: a person has to decide whether it belongs to the request.
--
-- `back_on` is the day on which the money was returned, `perhaps_back_on` a day on which it may have been
-- returned.
SELECT
    r.id AS request_id, l.entry_id, l.booking_date, s.amount, l.currency,
    CASE
        WHEN l.outcome <> 'conflict' THEN 'sent'
        WHEN l.reason LIKE 'status: %' OR l.reason LIKE 'closed %' THEN 'closed'
        ELSE 'contradicted'
    END AS standing,
    l.reason,
    CAST(NULL AS DATE) AS back_on, b.refunded_on AS perhaps_back_on, l.file_name, l.position
FROM allocations AS s
JOIN every_line AS l ON l.entry_id = s.entry_id
LEFT JOIN money_back AS b ON b.entry_id = l.entry_id
JOIN ramp_requests AS r ON r.id = s.expectation_id AND r.ramp_type = 'ON_RAMP'
WHERE l.direction = 'DBIT' AND l.source = 'own_bank'
UNION ALL
SELECT
    r.id AS request_id, l.entry_id, l.booking_date, t.amount, l.currency, 'sent' AS standing, l.reason,
    t.booking_date AS back_on, CAST(NULL AS DATE) AS perhaps_back_on, l.file_name, l.position
FROM linked_returns AS t
JOIN every_line AS l ON l.entry_id = t.original_id
JOIN ramp_requests AS r ON r.id = coalesce(t.expectation_id, l.expectation_id) AND r.ramp_type = 'ON_RAMP'
WHERE l.direction = 'DBIT' AND l.source = 'own_bank'
UNION ALL
SELECT
    x.expectation_id AS request_id, l.entry_id, l.booking_date, x.amount, l.currency, 'above' AS standing, l.reason,
    CAST(NULL AS DATE) AS back_on, CAST(NULL AS DATE) AS perhaps_back_on, l.file_name, l.position
FROM excess_lines AS x
JOIN every_line AS l ON l.entry_id = x.entry_id
JOIN ramp_requests AS r ON r.id = x.expectation_id AND r.ramp_type = 'ON_RAMP'
WHERE x.direction = 'DBIT'
UNION ALL
SELECT
    w.request_id, w.entry_id, w.since AS booking_date, w.amount, w.currency,
    CASE w.state
        WHEN 'PAID TWICE' THEN 'twice'
        WHEN 'PAID TO CLOSED REQUEST' THEN 'closed'
        WHEN 'PAID TO WRONG ACCOUNT' THEN 'elsewhere'
        ELSE 'contradicted'
    END AS standing,
    w.reason, CAST(NULL AS DATE) AS back_on, w.refunded_on AS perhaps_back_on, l.file_name, l.position
FROM misdirected_lines AS w
JOIN every_line AS l ON l.entry_id = w.entry_id
LEFT JOIN (SELECT DISTINCT entry_id, expectation_id FROM allocations) AS s
    ON s.entry_id = w.entry_id AND s.expectation_id = w.request_id
WHERE s.entry_id IS NULL
UNION ALL
SELECT
    r.id AS request_id, l.entry_id, l.booking_date, l.amount, l.currency, 'undecided' AS standing, l.reason,
    CAST(NULL AS DATE) AS back_on, CAST(NULL AS DATE) AS perhaps_back_on, l.file_name, l.position
FROM every_line AS l
JOIN ramp_requests AS r ON r.id = l.expectation_id AND r.ramp_type = 'ON_RAMP'
WHERE l.outcome = 'suggested' AND l.direction = 'DBIT' AND l.source = 'own_bank'
ORDER BY booking_date, entry_id, request_id
