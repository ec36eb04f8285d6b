-- One row per combination of a text, a kind of damage, and a known code that results when this damage is undone
-- (`variant`). `token` is set if the row is valid only for a text with this punctuation. The kinds of damage
-- are:
-- - look-alike letters and digits
-- - a longer word around a code of at least `min_damaged` characters
-- - up to four zeros omitted or added in a group of digits
-- - one character too many
-- - two neighbouring characters swapped
-- - other characters inside the code
--
-- Variants are joined with codes by equality, so the cost grows with the number of texts, and not with texts
-- times codes. One character too many, or a swap, leaves the beginning or the end of a code intact, so texts
-- with neither are skipped. For speed, many texts are joined into one value, because `translate` builds its
-- character map for every value.
WITH headed_forms AS (
    SELECT f.form, f.compared, f.length, f.size, u.min_damaged
    FROM damaged_forms AS f
    CROSS JOIN rules AS u
    SEMI JOIN code_heads AS h ON h.head = substr(f.compared, 1, u.min_damaged)
    WHERE f.size BETWEEN f.length - 1 AND f.length
),
tailed_forms AS (
    SELECT f.form, f.compared, f.length, f.size, f.min_damaged
    FROM (SELECT f.*, u.min_damaged FROM damaged_forms AS f CROSS JOIN rules AS u WHERE f.size BETWEEN f.length - 1 AND f.length) AS f
    SEMI JOIN (
        SELECT DISTINCT length(c.code) AS size, substr(c.code, u.min_damaged + 2) AS tail
        FROM known_codes AS c
        CROSS JOIN rules AS u
    ) AS t ON t.size = f.size AND t.tail = substr(f.compared, f.min_damaged + 2 + f.length - f.size)
),
look_alike_texts AS (
    SELECT compared, variant
    FROM (
        SELECT unnest(texts) AS compared,
            unnest(string_split(translate(array_to_string(texts, ' '), k.written, k.meant), ' ')) AS variant
        FROM (
            SELECT list_sort(array_agg(compared)) AS texts
            FROM (SELECT DISTINCT compared FROM damaged_forms WHERE length = size) AS f
            GROUP BY substr(md5(compared), 1, 2)
        ) AS batches
        CROSS JOIN look_alikes AS k
    ) AS translated
    SEMI JOIN known_codes AS c ON c.code = translated.variant
)
SELECT DISTINCT v.form, v.token, v.variant, v.damage
FROM (
    SELECT form, token, form AS variant, 'other characters inside it' AS damage
    FROM searched_texts
    WHERE token IN ('', '/')
    UNION ALL
    SELECT f.form, CAST(NULL AS VARCHAR) AS token, k.variant, 'letters and digits that look alike' AS damage
    FROM damaged_forms AS f
    JOIN look_alike_texts AS k ON k.compared = f.compared
    WHERE f.length = f.size AND k.variant <> f.form
    UNION ALL
    SELECT form, CAST(NULL AS VARCHAR) AS token, compared AS variant, 'letters and digits that look alike' AS damage
    FROM damaged_forms
    WHERE length = size AND compared <> form
    UNION ALL
    SELECT w.form, CAST(NULL AS VARCHAR) AS token, substr(w.compared, w.p, z.size) AS variant, 'inside a longer word' AS damage
    FROM (
        SELECT s.form, s.compared, s.p
        FROM (
            SELECT form, compared, p, substr(compared, p, min_damaged) AS start
            FROM (
                SELECT s.form, s.compared, u.min_damaged,
                    unnest(generate_series(1, length(s.form) - u.min_damaged + 1)) AS p
                FROM latin_texts AS s
                CROSS JOIN rules AS u
            ) AS places
        ) AS s
        JOIN code_heads AS h ON h.head = s.start
    ) AS w
    JOIN code_lengths AS z ON z.size < length(w.form) AND z.size <= length(w.form) - w.p + 1
    WHERE z.size >= (SELECT min_damaged FROM rules)
    UNION ALL
    SELECT form, CAST(NULL AS VARCHAR) AS token, substr(compared, 1, p - 1) || substr(compared, p + 1) AS variant, 'one character too many' AS damage
    FROM (
        SELECT form, compared, unnest(generate_series(1, least(min_damaged, length))) AS p FROM tailed_forms WHERE size < length
        UNION ALL
        SELECT form, compared, unnest(generate_series(min_damaged + 1, length)) AS p FROM headed_forms WHERE size < length
    ) AS places
    UNION ALL
    SELECT
        form,
        CAST(NULL AS VARCHAR) AS token,
        substr(compared, 1, p - 1) || substr(compared, p + 1, 1) || substr(compared, p, 1) || substr(compared, p + 2) AS variant,
        'two characters swapped' AS damage
    FROM (
        SELECT form, compared, unnest(generate_series(1, least(min_damaged, length - 1))) AS p FROM tailed_forms WHERE size = length
        UNION ALL
        SELECT form, compared, unnest(generate_series(min_damaged + 1, length - 1)) AS p FROM headed_forms WHERE size = length
    ) AS places
    WHERE compared <> form OR substr(compared, p, 1) <> substr(compared, p + 1, 1)
    UNION ALL
    SELECT
        form,
        token,
        replace(replace(replace(
            CASE
                WHEN size > length
                    THEN substr(token, 1, p - 1) || substr('0000', 1, size - length) || substr(token, p)
                WHEN substr(token, p, length - size) = substr('0000', 1, length - size)
                    THEN substr(token, 1, p - 1) || substr(token, p + length - size)
            END,
            '.', ''), '/', ''), '-', ''
        ) AS variant,
        CASE WHEN size > length THEN 'zeros dropped' ELSE 'zeros added' END AS damage
    FROM (
        SELECT s.form, s.token, length(s.form) AS length, z.size,
            unnest(generate_series(1, CASE WHEN regexp_matches(s.token, '[./-][0-9]') THEN length(s.token) ELSE 1 END)) AS p
        FROM (
            SELECT DISTINCT t.form, t.token
            FROM searched_texts AS t
            JOIN code_lengths AS z ON z.size <> length(t.form) AND z.size BETWEEN length(t.form) - 4 AND length(t.form) + 4
            WHERE regexp_matches(t.token, '^[0-9]|[./-][0-9]')
        ) AS s
        JOIN code_lengths AS z ON z.size <> length(s.form) AND z.size BETWEEN length(s.form) - 4 AND length(s.form) + 4
    ) AS places
    WHERE (p = 1 OR substr(token, p - 1, 1) IN ('-', '.', '/')) AND regexp_matches(substr(token, p, 1), '[0-9]')
) AS v
SEMI JOIN known_codes AS c ON c.code = v.variant
