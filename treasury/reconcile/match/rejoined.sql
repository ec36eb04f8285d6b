-- Codes that appear only across a space, hyphen or line break inside one field: neighbouring words that together
-- are a code, of any line, in the words that name nothing in full.
SELECT DISTINCT entry_id, expectation_id, code
FROM (
    SELECT f.entry_id, c.expectation_id, c.code, f.rest,
        unnest(generate_series(1, length(f.rest))) AS n
    FROM (
        SELECT b.entry_id, b.rest, substr(b.joined, 1, z.size) AS form
        FROM beginnings AS b
        JOIN sizes AS z
            ON z.size < length(b.rest) AND (z.size = b.length OR (NOT b.is_short AND z.size > b.length))
    ) AS f
    JOIN codes AS c ON c.code = f.form
) AS found
WHERE substr(rest, n + 1, 1) IN (' ', '')
    AND replace(substr(rest, 1, n), ' ', '') = code
    AND n > length(code)
    AND n - length(code) < (SELECT max_words FROM rules)
