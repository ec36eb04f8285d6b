-- The ramp requests that were finished at the month's end and still are: completed and received exactly once, or ended
-- without any money. One whose code another expectation has as well is none of them.
SELECT e.expectation_id, k.code, e.amount
FROM expectations AS e
CROSS JOIN asked AS a
JOIN ramp_requests AS r ON r.id = e.expectation_id
JOIN requests_at_cut_off AS c ON c.request_id = r.id
JOIN expectation_states AS s ON s.expectation_id = e.expectation_id
LEFT JOIN totals AS t ON t.expectation_id = e.expectation_id
LEFT JOIN stopped AS x ON x.status = e.status
LEFT JOIN every_code AS k ON k.expectation_id = e.expectation_id
LEFT JOIN (SELECT code FROM every_code GROUP BY code HAVING count(*) > 1) AS d ON d.code = k.code
LEFT JOIN open_expectations AS n ON n.expectation_id = e.expectation_id
WHERE e.amount > 0 AND d.code IS NULL AND n.expectation_id IS NULL
    AND NOT r.is_open AND r.vanished_at IS NULL AND c.status = r.status
    AND (
        (r.status = 'SUCCEEDED' AND x.status IS NULL AND r.completed_at < a.month_end
            AND s.state = 'received' AND t.received = e.amount AND s.received = e.amount)
        OR (r.status IN ('CANCELLED', 'REJECTED', 'DENIED', 'FAILED') AND x.status IS NOT NULL
            AND s.state = 'closed' AND s.received = 0)
    )
