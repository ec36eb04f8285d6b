-- One row per combination of a line, a code that it names between slashes or dots, and an expectation with a
-- longer code (question 3: is it only a part?). The longer code begins with the whole token, or with the part of
-- the token that begins with the named code. If there are very many longer codes, only the first five are
-- included.
SELECT s.entry_id, s.code AS short, c.expectation_id, c.code
FROM token_parts AS s
JOIN (
    SELECT f.form, c.expectation_id, c.code
    FROM (
        SELECT c.expectation_id, c.code, substr(c.code, 1, k.size) AS start
        FROM known_codes AS c
        JOIN part_lengths AS k ON k.size < length(c.code)
    ) AS c
    JOIN (SELECT DISTINCT form FROM token_parts) AS f ON f.form = c.start
    QUALIFY row_number() OVER (PARTITION BY f.form ORDER BY c.code, c.expectation_id) <= 5
) AS c ON c.form = s.form
QUALIFY row_number() OVER (PARTITION BY s.entry_id, s.code ORDER BY c.code, c.expectation_id) <= 5
