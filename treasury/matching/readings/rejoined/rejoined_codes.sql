-- One row per pair of a line and an expectation with a code that the line's text contains in pieces:
-- neighbouring words of one field, divided by spaces or line breaks, form the code (`PAY 2026 004417`). Words
-- that are a whole code are not joined with others. A code may have up to `max_words` pieces. A long code may
-- have more, if the pieces have about three characters or more on average.
SELECT r.entry_id, c.expectation_id, r.code
FROM (
    SELECT DISTINCT entry_id, code
    FROM (
        SELECT entry_id, code, rest, unnest(generate_series(length(code) + 1, least(length(rest), length(code) + spaces))) AS n
        FROM (
            SELECT f.entry_id, f.rest, f.spaces, c.code
            FROM (
                SELECT b.entry_id, b.rest, length(b.rest) - length(b.joined) AS spaces, substr(b.joined, 1, z.size) AS form
                FROM code_beginnings AS b
                JOIN code_lengths AS z
                    ON z.size < length(b.rest) AND (z.size = b.length OR (NOT b.is_short AND z.size > b.length))
            ) AS f
            JOIN (SELECT DISTINCT code FROM known_codes) AS c ON c.code = f.form
        ) AS begun
    ) AS found
    WHERE substr(rest, n + 1, 1) IN (' ', '')
        AND replace(substr(rest, 1, n), ' ', '') = code
        AND (n - length(code) < (SELECT max_words FROM rules) OR 3 * CAST(n - length(code) AS INTEGER) < length(code))
) AS r
JOIN (SELECT DISTINCT expectation_id, code FROM known_codes) AS c ON c.code = r.code
