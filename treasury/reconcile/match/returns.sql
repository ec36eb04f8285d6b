-- Each return or reversal with the earlier line whose money it brings back, whole or in part. A part is linked
-- only to the one line it can belong to, and only while that line has as much left.
SELECT return_id, original_id, return_reason, amount, booking_date, expectation_id
FROM full_returns
UNION ALL
SELECT return_id, original_id, return_reason, amount, booking_date, expectation_id
FROM said_returns
UNION ALL
SELECT
    parts.return_id, parts.original_id, parts.return_reason, parts.amount, parts.booking_date,
    CASE WHEN s.entry_id IS NULL THEN parts.expectation_id ELSE coalesce(n.expectation_id, '') END AS expectation_id
FROM (
    SELECT
        v.*,
        sum(v.amount) OVER (
            PARTITION BY v.original_id ORDER BY v.booking_date, v.return_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS back_so_far
    FROM (
        SELECT *, first_id AS original_id,
            is_only AND count(*) OVER (PARTITION BY return_id) = 1 AND original_amount <> amount AS is_clear
        FROM evidence_of_return
    ) AS v
    WHERE v.is_clear AND v.first_id NOT IN (SELECT original_id FROM full_returns)
        AND v.first_id NOT IN (SELECT original_id FROM said_returns)
) AS parts
LEFT JOIN (SELECT DISTINCT entry_id FROM accepted WHERE several > 1 AND counts) AS s ON s.entry_id = parts.original_id
LEFT JOIN (
    SELECT w.entry_id AS return_id, a.entry_id AS original_id, min(w.expectation_id) AS expectation_id
    FROM owners AS w
    JOIN marked AS m ON m.entry_id = w.entry_id
    JOIN accepted AS a ON a.expectation_id = w.expectation_id
    WHERE a.several > 1 AND a.counts
    GROUP BY w.entry_id, a.entry_id
    HAVING count(*) = 1
) AS n ON n.return_id = parts.return_id AND n.original_id = parts.original_id
WHERE parts.back_so_far <= parts.original_amount
