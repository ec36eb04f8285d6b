-- Codes that appear only across a space, hyphen or line break inside one field: neighbouring words that together
-- are a code, of any line, in the words that name nothing in full.
SELECT DISTINCT entry_id, expectation_id, code
FROM (
    SELECT f.entry_id, c.expectation_id, c.code, f.rest,
        unnest(generate_series(1, length(f.rest))) AS n
    FROM (
        SELECT r.entry_id, r.rest, substr(replace(r.rest, ' ', ''), 1, z.size) AS form
        FROM (
            SELECT entry_id, substr(spaced, p, (SELECT max(size) + max(size) FROM sizes)) AS rest
            FROM (
                SELECT entry_id, spaced,
                    unnest(generate_series(1, length(spaced))) AS p
                FROM (
                    SELECT entry_id, substr(spaced, 1, (SELECT max_text FROM rules)) AS spaced FROM spaced
                ) AS texts_looked_at
            ) AS places
            WHERE (p = 1 OR substr(spaced, p - 1, 1) = ' ')
                AND substr(spaced, p, 1) IN (SELECT initial FROM initials)
        ) AS r
        JOIN sizes AS z ON z.size < length(r.rest)
    ) AS f
    JOIN codes AS c ON c.code = f.form
) AS found
WHERE substr(rest, n + 1, 1) IN (' ', '')
    AND replace(substr(rest, 1, n), ' ', '') = code
    AND n > length(code)
    AND n - length(code) < (SELECT max_words FROM rules)
