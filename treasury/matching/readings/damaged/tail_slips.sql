-- One row per pair of a text and an expectation, if one of the last six characters of the expectation's code
-- differs in the text or is missing from it (`PAY2026004477` for `PAY2026004417`). The join is on equal
-- characters: those before the last six, and the last six without the one at position `p`. So not every text is
-- compared with every code.
SELECT DISTINCT f.form, c.expectation_id, c.code
FROM (
    SELECT *, substr(tail, 1, p - 1) || substr(tail, p + 1) AS rest
    FROM (
        SELECT expectation_id, code, size, head, tail,
            unnest(generate_series(1, 6)) AS p
        FROM (
            SELECT
                expectation_id, code,
                length(code) AS size,
                substr(code, 1, length(code) - 6) AS head,
                substr(code, length(code) - 5) AS tail
            FROM known_codes
        ) AS halves
        SEMI JOIN (
            SELECT DISTINCT size, substr(compared, 1, size - 6) AS head FROM damaged_forms WHERE length BETWEEN size - 1 AND size
        ) AS f ON f.size = halves.size AND f.head = halves.head
    ) AS places
) AS c
JOIN (
    SELECT form, compared, size, head, p,
        CASE WHEN length = size THEN substr(tail, 1, p - 1) || substr(tail, p + 1) ELSE tail END AS rest
    FROM (
        SELECT form, compared, length, size, head, tail, unnest(generate_series(1, 6)) AS p
        FROM (
            SELECT *, substr(compared, 1, size - 6) AS head, substr(compared, size - 5) AS tail
            FROM damaged_forms
            WHERE length BETWEEN size - 1 AND size
        ) AS halves
        SEMI JOIN (
            SELECT DISTINCT length(code) AS size, substr(code, 1, length(code) - 6) AS head FROM known_codes
        ) AS k ON k.size = halves.size AND k.head = halves.head
    ) AS places
) AS f ON f.size = c.size AND f.head = c.head AND f.p = c.p AND f.rest = c.rest
WHERE levenshtein(f.compared, c.code) = 1
