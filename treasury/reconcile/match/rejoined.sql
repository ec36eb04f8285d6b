-- Codes that appear only across a space, hyphen or line break inside one field: neighbouring words that together
-- are a code, of any line, in the words that name nothing in full. A long one may be printed in
-- as many groups as have three characters or more.
SELECT DISTINCT r.entry_id, c.expectation_id, r.code
FROM (
    SELECT entry_id, code,
        list_transform(generate_series(2, array_length(words)), k -> length(array_to_string(words[1:k], ''))) AS lengths
    FROM (
        SELECT DISTINCT f.entry_id, c.code, string_split(f.rest, ' ') AS words
        FROM (
            SELECT b.entry_id, b.rest, substr(b.joined, 1, z.size) AS form
            FROM beginnings AS b
            JOIN sizes AS z
                ON z.size < length(b.rest) AND (z.size = b.length OR (NOT b.is_short AND z.size > b.length))
        ) AS f
        JOIN (SELECT DISTINCT code FROM codes) AS c ON c.code = f.form
    ) AS begun
) AS r
JOIN codes AS c ON c.code = r.code
CROSS JOIN rules AS u
WHERE list_contains(r.lengths, length(r.code))
    AND (array_length(list_filter(r.lengths, n -> n <= length(r.code))) < u.max_words
        OR 3 * CAST(array_length(list_filter(r.lengths, n -> n <= length(r.code))) AS INTEGER) < length(r.code))
