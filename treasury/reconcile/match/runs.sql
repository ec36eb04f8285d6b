-- Words that may be a second code in pieces, whole or damaged: neighbouring words that together begin as some code
-- does, are about as long as one and have a letter; and each word between slashes or dots. Those that are together just
-- what the line is read as are none.
SELECT r.entry_id, r.form, CASE WHEN r.is_divided THEN '/' ELSE '' END AS token
FROM (
    SELECT DISTINCT w.entry_id, w.form, w.is_divided
    FROM (
        SELECT entry_id, is_divided, unnest(list_filter(
            list_transform(generate_series(1, array_length(words)), k -> array_to_string(words[1:k], '')),
            form -> length(form) BETWEEN shortest AND longest
        )) AS form
        FROM (
            SELECT DISTINCT r.entry_id, r.is_divided, r.shortest, r.longest, string_split(r.rest, ' ') AS words
            FROM (
                SELECT entry_id, is_divided, shortest, longest, substr(following, 1, longest + longest) AS rest
                FROM (
                    SELECT entry_id, is_divided, shortest, longest, unnest(list_transform(
                            list_filter(
                                generate_series(1, array_length(words)),
                                i -> words[i] <> '' AND contains(characters, substr(words[i], 1, 1))
                            ),
                            i -> array_to_string(words[i:i + longest], ' ')
                        )) AS following
                    FROM (
                        SELECT b.entry_id, b.is_divided, string_split(b.words, ' ') AS words, z.shortest, z.longest,
                            i.characters
                        FROM beside AS b
                        CROSS JOIN (
                            SELECT greatest(min(s.size) - 4, max(u.min_code)) AS shortest, max(s.size) + 1 AS longest
                            FROM sizes AS s
                            CROSS JOIN rules AS u
                        ) AS z
                        CROSS JOIN (SELECT array_to_string(list_sort(array_agg(initial)), '') AS characters FROM initials) AS i
                    ) AS texts_beside
                ) AS starts
            ) AS r
            JOIN edges AS e ON e.edge = substr(replace(r.rest, ' ', ''), 1, 4)
            WHERE regexp_matches(r.rest, '[^0-9 ]')
        ) AS opened
        UNION ALL
        SELECT entry_id, form, TRUE AS is_divided
        FROM (SELECT entry_id, unnest(string_split(words, ' ')) AS form FROM beside WHERE is_divided) AS words_between
    ) AS w
    JOIN sizes AS z ON length(w.form) BETWEEN greatest(z.size - 4, (SELECT min_code FROM rules)) AND z.size + 1
) AS r
LEFT JOIN (
    SELECT entry_id, code FROM rejoined
    UNION
    SELECT entry_id, code FROM written
) AS o ON o.entry_id = r.entry_id AND o.code = r.form
WHERE o.entry_id IS NULL AND regexp_matches(r.form, '[^0-9]')
