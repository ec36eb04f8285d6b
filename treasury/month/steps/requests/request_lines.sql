-- One row per expectation with lines that are matched to it, contradict it or may belong to it, or that were
-- returned. `received_on` and `last_received_on` are the first and last day of its matched lines, `entry_id` is
-- the smallest of their ids. `received` is the sum of the whole amounts of these lines, even if a line pays
-- other expectations too. The other days are the last days of lines that were returned, of lines that
-- contradict it or pay it twice, and of lines that may belong to it and need a decision.
SELECT
    f.expectation_id AS request_id,
    min(f.received_on) AS received_on,
    max(f.last_received_on) AS last_received_on,
    CAST(sum(f.received) AS DECIMAL(38, 18)) AS received,
    min(f.entry_id) AS entry_id,
    max(f.is_instant) AS is_instant,
    max(f.returned_on) AS returned_on,
    coalesce(max(f.maybe_on), max(f.perhaps_on)) AS maybe_on,
    max(f.contradicted_on) AS contradicted_on
FROM (
    SELECT
        a.expectation_id, min(l.booking_date) AS received_on, max(l.booking_date) AS last_received_on,
        CAST(sum(l.amount) AS DECIMAL(38, 18)) AS received, min(l.entry_id) AS entry_id,
        max(CASE WHEN l.is_instant THEN 1 ELSE 0 END) AS is_instant,
        CAST(NULL AS DATE) AS returned_on, CAST(NULL AS DATE) AS maybe_on, CAST(NULL AS DATE) AS perhaps_on, CAST(NULL AS DATE) AS contradicted_on
    FROM allocations AS a JOIN every_line AS l ON l.entry_id = a.entry_id
    GROUP BY a.expectation_id
    UNION ALL
    SELECT
        expectation_id, CAST(NULL AS DATE) AS received_on, CAST(NULL AS DATE) AS last_received_on,
        CAST(NULL AS DECIMAL(38, 18)) AS received, CAST(NULL AS VARCHAR) AS entry_id, 0 AS is_instant,
        max(booking_date) FILTER (WHERE outcome = 'returned') AS returned_on,
        max(booking_date) FILTER (WHERE outcome = 'suggested') AS maybe_on,
        CAST(NULL AS DATE) AS perhaps_on,
        max(booking_date) FILTER (WHERE outcome IN ('conflict', 'duplicate')) AS contradicted_on
    FROM every_line
    WHERE expectation_id IS NOT NULL AND outcome IN ('returned', 'suggested', 'conflict', 'duplicate')
    GROUP BY expectation_id
    UNION ALL
    SELECT
        c.expectation_id, CAST(NULL AS DATE) AS received_on, CAST(NULL AS DATE) AS last_received_on,
        CAST(NULL AS DECIMAL(38, 18)) AS received, CAST(NULL AS VARCHAR) AS entry_id, 0 AS is_instant,
        CAST(NULL AS DATE) AS returned_on, CAST(NULL AS DATE) AS maybe_on, max(l.booking_date) AS perhaps_on,
        CAST(NULL AS DATE) AS contradicted_on
    FROM candidates AS c JOIN every_line AS l ON l.entry_id = c.entry_id
    WHERE l.outcome = 'suggested'
    GROUP BY c.expectation_id
) AS f
WHERE f.expectation_id IS NOT NULL
GROUP BY f.expectation_id
