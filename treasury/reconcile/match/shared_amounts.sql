-- Of very many expectations of one code, the first few of each amount, for lines of that amount.
SELECT code, amount, expectation_id
FROM (
    SELECT c.code, e.amount, c.expectation_id,
        row_number() OVER (
            PARTITION BY c.code, e.amount
            ORDER BY CASE WHEN x.status IS NULL THEN 0 ELSE 1 END, e.opened_at, c.expectation_id
        ) AS place
    FROM every_code AS c
    JOIN shared_codes AS s ON s.code = c.code
    JOIN expectations AS e ON e.expectation_id = c.expectation_id
    LEFT JOIN stopped AS x ON x.status = e.status
    WHERE e.amount IS NOT NULL
) AS placed
WHERE place <= (SELECT max_candidates FROM rules)
