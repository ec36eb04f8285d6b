-- One row per return or reversal, with the earlier line that it brings back in full or in part (`original_id`).
-- `expectation_id` is the expectation that loses the money. It is empty if the line is about no certain
-- expectation.
--
-- A line may have several accepted expectations, because a person divided it. If it is returned in full,
-- `expectation_id` is only the first of them by id (see `returned_expectations`). If it is returned in part,
-- `expectation_id` is the one that the return names, or empty if the return does not name exactly one.
SELECT return_id, original_id, return_reason, amount, booking_date, expectation_id
FROM full_returns
UNION ALL
SELECT return_id, original_id, return_reason, amount, booking_date, expectation_id
FROM accepted_returns
UNION ALL
SELECT
    p.return_id, p.original_id, p.return_reason, p.amount, p.booking_date,
    CASE WHEN s.entry_id IS NULL THEN p.expectation_id ELSE coalesce(n.expectation_id, '') END AS expectation_id
FROM partial_returns AS p
LEFT JOIN (SELECT DISTINCT entry_id FROM accepted_pairs WHERE several > 1 AND counts) AS s ON s.entry_id = p.original_id
LEFT JOIN (
    SELECT b.return_id, min(w.expectation_id) AS expectation_id
    FROM partial_returns AS b
    JOIN accepted_pairs AS a ON a.entry_id = b.original_id
    JOIN return_codes AS w ON w.return_id = b.return_id AND w.expectation_id = a.expectation_id
    WHERE a.several > 1 AND a.counts
    GROUP BY b.return_id
    HAVING count(*) = 1
) AS n ON n.return_id = p.return_id
