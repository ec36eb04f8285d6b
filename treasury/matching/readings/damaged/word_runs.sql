-- One row per pair of a line and a text in it that may be a second code in pieces, complete or damaged. The text
-- is listed without its spaces (`PAY2026004417` for the words `PAY 2026 004417`). It is one of these:
-- - a run of neighbouring words that begins with the first four characters of a known code
-- - one word of a text that is divided at slashes and dots (`is_divided` in `adjacent_words`)
--
-- The text is not a number. It has the length of a known code, or one character more, or up to four fewer. Split
-- codes, and codes that the line names in full, are excluded. `token` is `/` if the text comes from a divided
-- text, and empty otherwise. Only parts of a text with a word that begins like a code are searched for runs,
-- because the search reads each character.
WITH text_parts AS (
    SELECT p.entry_id, p.part, p.least, p.most, p.is_divided, p.initials
    FROM (
        SELECT entry_id, substr(padded, start, 32 + most + most) AS part, least, most, is_divided, initials
        FROM (
            SELECT b.*, z.least, z.most, unnest(generate_series(1, length(b.padded) - 1, 32)) AS start,
                (SELECT array_to_string(list_sort(array_agg(initial)), '') FROM code_initials) AS initials
            FROM (
                SELECT entry_id, is_divided, ' ' || words AS padded
                FROM adjacent_words
                WHERE trim(words, '0123456789 ') <> ''
            ) AS b
            CROSS JOIN (
                SELECT greatest(min(s.size) - 4, max(u.min_code)) AS least, max(s.size) + 1 AS most
                FROM code_lengths AS s
                CROSS JOIN rules AS u
            ) AS z
        ) AS starts
    ) AS p
    SEMI JOIN code_initials AS i ON contains(p.part, ' ' || i.initial)
),
beginnings AS (
    SELECT DISTINCT r.entry_id, r.rest, r.joined, r.least, r.most, r.is_divided
    FROM (
        SELECT entry_id, rest, replace(rest, ' ', '') AS joined, least, most, is_divided
        FROM (
            SELECT entry_id, substr(part, p + 1, most + most) AS rest, least, most, is_divided
            FROM (SELECT *, unnest(generate_series(1, 32)) AS p FROM text_parts) AS places
            WHERE substr(part, p, 1) = ' ' AND contains(initials, substr(part, p + 1, 1))
        ) AS rests
    ) AS r
    SEMI JOIN code_edges AS e ON e.edge = substr(r.joined, 1, 4)
),
runs AS (
    SELECT entry_id, replace(substr(rest, 1, n), ' ', '') AS form, is_divided
    FROM (
        SELECT entry_id, rest, rest || ' ' AS spaced, is_divided,
            unnest(generate_series(least, least(length(rest), most + length(rest) - length(joined)))) AS n
        FROM beginnings
    ) AS ends
    WHERE CASE WHEN substr(spaced, n + 1, 1) = ' ' THEN substr(rest, n, 1) <> ' ' ELSE FALSE END
    UNION ALL
    SELECT entry_id, form, TRUE AS is_divided
    FROM (SELECT entry_id, unnest(string_split(words, ' ')) AS form FROM adjacent_words WHERE is_divided) AS words_between
)
SELECT r.entry_id, r.form, CASE WHEN r.is_divided THEN '/' ELSE '' END AS token
FROM (
    SELECT DISTINCT w.entry_id, w.form, w.is_divided
    FROM runs AS w
    JOIN code_lengths AS z ON length(w.form) BETWEEN z.size - 4 AND z.size + 1
) AS r
LEFT JOIN (
    SELECT entry_id, code FROM rejoined_codes
    UNION
    SELECT entry_id, code FROM named_expectations
) AS o ON o.entry_id = r.entry_id AND o.code = r.form
WHERE o.entry_id IS NULL AND regexp_matches(r.form, '[^0-9]')
