-- One row per combination of a line, a place in its text where a word begins like a known code, and the number
-- of equal characters (`length`, see `code_heads`). Spaces are ignored. `rest` is the text from this place, up
-- to twice the length of the longest code, and `joined` is the same text without spaces. `is_short`: `length` is
-- less than `min_damaged`, so the equal characters are a whole code.
--
-- Only the first `max_text` characters of a field are read. They are cut into overlapping parts, because the
-- time to read a character grows with the text before it. Parts in which no word begins with the first character
-- of a code are skipped.
WITH text_parts AS (
    SELECT p.entry_id, p.part, p.min_damaged, p.longest, p.initials
    FROM (
        SELECT entry_id, min_damaged, longest, initials, substr(padded, start, 32 + longest) AS part
        FROM (
            SELECT entry_id, padded, min_damaged, longest, initials, unnest(generate_series(1, length(padded) - 1, 32)) AS start
            FROM (
                SELECT s.entry_id, ' ' || substr(s.spaced, 1, u.max_text) AS padded, u.min_damaged,
                    (SELECT max(size) + max(size) FROM code_lengths) AS longest,
                    (SELECT array_to_string(list_sort(array_agg(initial)), '') FROM code_initials) AS initials
                FROM spaced_fields AS s
                CROSS JOIN rules AS u
            ) AS texts_looked_at
        ) AS starts
    ) AS p
    SEMI JOIN code_initials AS i ON contains(p.part, ' ' || i.initial)
)
SELECT r.entry_id, r.rest, r.joined, r.length, r.is_short
FROM (
    SELECT
        b.entry_id, b.rest, b.joined, k.length, k.length < b.min_damaged AS is_short,
        substr(b.joined, 1, k.length) AS start
    FROM (
        SELECT entry_id, rest, min_damaged, replace(rest, ' ', '') AS joined
        FROM (
            SELECT entry_id, min_damaged, substr(part, p + 1, longest) AS rest
            FROM (
                SELECT entry_id, part, min_damaged, longest, initials, unnest(generate_series(1, 32)) AS p
                FROM text_parts
            ) AS places
            WHERE substr(part, p, 1) = ' ' AND contains(initials, substr(part, p + 1, 1))
        ) AS rests
    ) AS b
    CROSS JOIN (SELECT DISTINCT least(s.size, u.min_damaged) AS length FROM code_lengths AS s CROSS JOIN rules AS u) AS k
) AS r
JOIN code_heads AS h ON h.head = r.start AND h.length = r.length
