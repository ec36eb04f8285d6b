-- One row per ramp request that was finished by the end of the closed months and has not changed since. There
-- are two cases:
-- - The request was completed, and lines in `settleable_lines` paid exactly its amount.
-- - The request was stopped, and no money was paid for it.
--
-- A request is excluded if the service no longer lists it, if another line belongs to it, if its money was
-- returned, or if its transaction hash is used twice or has a problem.
SELECT e.expectation_id, k.code, e.code AS written_code, e.amount, e.currency, e.direction, e.opened_at, e.status,
    substr(md5(h.hash_key), 1, 16) AS hash_digest
FROM expectations AS e
CROSS JOIN closed_to AS a
JOIN ramp_requests AS r ON r.id = e.expectation_id
JOIN expectation_states AS s ON s.expectation_id = e.expectation_id
LEFT JOIN closed_statuses AS x ON x.status = e.status
LEFT JOIN compared_codes AS k ON k.expectation_id = e.expectation_id
LEFT JOIN open_expectations AS n ON n.expectation_id = e.expectation_id
LEFT JOIN (
    SELECT v.expectation_id
    FROM provisional_pairs AS v
    LEFT JOIN settleable_lines AS l ON l.entry_id = v.entry_id AND l.expectation_id = v.expectation_id
    WHERE l.entry_id IS NULL
    UNION
    SELECT expectation_id FROM further_shares
    UNION
    SELECT expectation_id FROM linked_returns
) AS u ON u.expectation_id = e.expectation_id
LEFT JOIN hash_uses AS h ON h.request_id = e.expectation_id
LEFT JOIN (SELECT hash_key FROM hash_uses GROUP BY hash_key HAVING count(*) > 1) AS t ON t.hash_key = h.hash_key
LEFT JOIN (SELECT DISTINCT request_id FROM hash_problems) AS p ON p.request_id = e.expectation_id
LEFT JOIN (
    SELECT request_id, max(moment) AS moment FROM request_status_changes GROUP BY request_id
) AS l ON l.request_id = e.expectation_id
WHERE e.amount > 0 AND n.expectation_id IS NULL AND u.expectation_id IS NULL
    AND t.hash_key IS NULL AND p.request_id IS NULL
    AND NOT r.is_open AND r.vanished_at IS NULL AND coalesce(l.moment, r.created_at) < a.month_end
    AND (
        (r.status = 'SUCCEEDED' AND x.status IS NULL AND r.completed_at < a.month_end
            AND s.state = 'received' AND s.received = e.amount)
        OR (r.status IN ('CANCELLED', 'REJECTED', 'DENIED', 'FAILED') AND x.status IS NOT NULL
            AND s.state = 'closed' AND s.received = 0)
    )
