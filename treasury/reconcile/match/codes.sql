-- The codes that texts are compared with, each with its expectations: of very many of one code, the first that money may
-- still come for.
SELECT c.expectation_id, c.code
FROM every_code AS c
LEFT JOIN shared_codes AS s ON s.code = c.code
WHERE s.code IS NULL
UNION ALL
SELECT expectation_id, code
FROM (
    SELECT c.expectation_id, c.code,
        row_number() OVER (
            PARTITION BY c.code ORDER BY CASE WHEN x.status IS NULL THEN 0 ELSE 1 END, e.opened_at, c.expectation_id
        ) AS place
    FROM every_code AS c
    JOIN shared_codes AS s ON s.code = c.code
    JOIN expectations AS e ON e.expectation_id = c.expectation_id
    LEFT JOIN stopped AS x ON x.status = e.status
) AS placed
WHERE place <= (SELECT max_same_code FROM rules)
