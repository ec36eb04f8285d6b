-- The expectations of such codes, numbered within the code and within the code's amounts: those that money may still come
-- for first.
SELECT
    c.expectation_id, c.code, e.amount,
    row_number() OVER (
        PARTITION BY c.code ORDER BY CASE WHEN x.status IS NULL THEN 0 ELSE 1 END, e.opened_at, c.expectation_id
    ) AS place,
    row_number() OVER (
        PARTITION BY c.code, e.amount
        ORDER BY CASE WHEN x.status IS NULL THEN 0 ELSE 1 END, e.opened_at, c.expectation_id
    ) AS place_of_amount
FROM compared_codes AS c
JOIN shared_codes AS s ON s.code = c.code
JOIN (
    SELECT expectation_id, amount, opened_at, status FROM expectations
    UNION ALL
    SELECT expectation_id, amount, opened_at, status FROM settled_requests
) AS e ON e.expectation_id = c.expectation_id
LEFT JOIN closed_statuses AS x ON x.status = e.status
