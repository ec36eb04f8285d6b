-- Words that may be a second code in pieces, whole or damaged: neighbouring words that together begin as some code
-- does; and each word between slashes or dots. Those that are together just what the line is read as are none.
SELECT r.entry_id, r.form
FROM (
    SELECT entry_id, replace(substr(rest, 1, n), ' ', '') AS form
    FROM (
        SELECT entry_id, rest, most, unnest(generate_series(1, length(rest))) AS n
        FROM (
            SELECT DISTINCT r.entry_id, r.rest, r.most
            FROM (
                SELECT s.entry_id, s.rest, s.most, k.length, substr(replace(s.rest, ' ', ''), 1, k.length) AS start
                FROM (
                    SELECT b.entry_id, substr(b.words, b.p, z.most + z.most) AS rest, z.most
                    FROM (SELECT entry_id, words, unnest(generate_series(1, length(words))) AS p FROM beside) AS b
                    CROSS JOIN (SELECT max(size) + 1 AS most FROM sizes) AS z
                    WHERE (b.p = 1 OR substr(b.words, b.p - 1, 1) = ' ')
                        AND substr(b.words, b.p, 1) IN (SELECT initial FROM initials)
                ) AS s
                CROSS JOIN (SELECT DISTINCT length FROM edges) AS k
            ) AS r
            JOIN edges AS e ON e.edge = r.start AND e.length = r.length
        ) AS begun
    ) AS ends
    WHERE substr(rest, n, 1) <> ' ' AND substr(rest, n + 1, 1) IN (' ', '')
        AND length(replace(substr(rest, 1, n), ' ', '')) <= most
    UNION
    SELECT entry_id, form
    FROM (SELECT entry_id, unnest(string_split(words, ' ')) AS form FROM beside WHERE is_divided) AS words_between
) AS r
LEFT JOIN rejoined AS o ON o.entry_id = r.entry_id AND o.code = r.form
WHERE o.entry_id IS NULL
