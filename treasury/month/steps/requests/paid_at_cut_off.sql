-- One row per on-ramp request, with the money that had left for it by the month's end, up to its amount.
-- Payments that were returned after the month's end are included. For a request that was open at the month's
-- end and has ended since, debits that contradict only its present status are included too.
SELECT
    p.request_id,
    min(p.booking_date) AS left_on,
    CAST(least(sum(p.amount), min(r.fiat_amount)) AS DECIMAL(38, 18)) AS amount
FROM (
    SELECT s.expectation_id AS request_id, b.booking_date, s.amount
    FROM allocations AS s JOIN bank_lines AS b ON b.entry_id = s.entry_id
    UNION ALL
    SELECT t.expectation_id AS request_id, o.booking_date, t.amount
    FROM linked_returns AS t
    JOIN bank_lines AS o ON o.entry_id = t.original_id
    CROSS JOIN asked AS z
    WHERE t.booking_date > z.month_last
    UNION ALL
    SELECT c.request_id, l.booking_date, l.amount
    FROM requests_at_cut_off AS c
    JOIN every_line AS l ON l.expectation_id = c.request_id
    WHERE c.is_open AND c.has_ended AND l.outcome = 'conflict' AND l.reason LIKE 'status: %' AND l.direction = 'DBIT'
) AS p
JOIN ramp_requests AS r ON r.id = p.request_id AND r.ramp_type = 'ON_RAMP'
CROSS JOIN asked AS a
WHERE p.booking_date <= a.month_last
GROUP BY p.request_id
