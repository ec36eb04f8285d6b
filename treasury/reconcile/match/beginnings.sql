-- Where a word begins as a code does, with what follows it, and the same without spaces.
SELECT r.entry_id, r.rest, r.joined, r.length, r.is_short
FROM (
    SELECT
        b.entry_id, b.rest, b.joined, k.length, k.length < b.min_damaged AS is_short,
        substr(b.joined, 1, k.length) AS start
    FROM (
        SELECT entry_id, rest, min_damaged, replace(rest, ' ', '') AS joined
        FROM (
            SELECT entry_id, min_damaged, substr(following, 1, longest + longest) AS rest
            FROM (
                SELECT entry_id, min_damaged, longest, unnest(list_transform(
                    list_filter(
                        generate_series(1, array_length(words)),
                        i -> words[i] <> '' AND contains(characters, substr(words[i], 1, 1))
                    ),
                    i -> array_to_string(words[i:i + longest], ' ')
                )) AS following
                FROM (
                    SELECT s.entry_id, string_split(substr(s.spaced, 1, u.max_text), ' ') AS words, u.min_damaged, z.longest,
                        i.characters
                    FROM spaced AS s
                    CROSS JOIN rules AS u
                    CROSS JOIN (SELECT max(size) AS longest FROM sizes) AS z
                    CROSS JOIN (SELECT array_to_string(list_sort(array_agg(initial)), '') AS characters FROM initials) AS i
                ) AS texts_looked_at
            ) AS starts
        ) AS rests
    ) AS b
    CROSS JOIN (SELECT DISTINCT least(s.size, u.min_damaged) AS length FROM sizes AS s CROSS JOIN rules AS u) AS k
) AS r
JOIN heads AS h ON h.head = r.start AND h.length = r.length
