-- One row per pair of a text and an expectation, if one character of the expectation's code differs in the text
-- or is missing from it, before the code's last six characters (`PAY2027004417` for `PAY2026004417`). The join
-- is on equal characters: the last six, and those before them without the one at position `p`. So not every
-- text is compared with every code.
SELECT DISTINCT f.form, c.expectation_id, c.code
FROM (
    SELECT *, substr(head, 1, p - 1) || substr(head, p + 1) AS rest
    FROM (
        SELECT expectation_id, code, size, head, tail, unnest(generate_series(1, size - 6)) AS p
        FROM (
            SELECT
                expectation_id, code,
                length(code) AS size,
                substr(code, 1, length(code) - 6) AS head,
                substr(code, length(code) - 5) AS tail
            FROM known_codes
        ) AS halves
        SEMI JOIN (
            SELECT DISTINCT size, substr(compared, length - 5) AS tail FROM damaged_forms WHERE length BETWEEN size - 1 AND size
        ) AS f ON f.size = halves.size AND f.tail = halves.tail
    ) AS places
) AS c
JOIN (
    SELECT form, compared, size, tail, p,
        CASE WHEN length = size THEN substr(head, 1, p - 1) || substr(head, p + 1) ELSE head END AS rest
    FROM (
        SELECT form, compared, length, size, head, tail, unnest(generate_series(1, size - 6)) AS p
        FROM (
            SELECT *, substr(compared, 1, length - 6) AS head, substr(compared, length - 5) AS tail
            FROM damaged_forms
            WHERE length BETWEEN size - 1 AND size
        ) AS halves
        SEMI JOIN (
            SELECT DISTINCT length(code) AS size, substr(code, length(code) - 5) AS tail FROM known_codes
        ) AS k ON k.size = halves.size AND k.tail = halves.tail
    ) AS places
) AS f ON f.size = c.size AND f.tail = c.tail AND f.p = c.p AND f.rest = c.rest
WHERE levenshtein(f.compared, c.code) = 1
