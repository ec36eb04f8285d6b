-- What a text would read as if one thing had happened to it: letters for digits or digits for letters that look
-- alike, a longer word around the code, zeros dropped from a group or added to it, one character too many, two
-- neighbours swapped, other characters inside it. Only these are compared with codes, so that the cost grows with the text and
-- not with lines times codes.
SELECT DISTINCT form, variant, damage
FROM (
    SELECT form, form AS variant, 'other characters inside it' AS damage
    FROM searched
    WHERE token = ''
    UNION ALL
    SELECT f.form, translate(f.form, k.written, k.meant) AS variant, 'letters and digits that look alike' AS damage
    FROM forms AS f
    CROSS JOIN look_alikes AS k
    WHERE f.length = f.size
    UNION ALL
    SELECT form, substr(form, p, size) AS variant, 'inside a longer word' AS damage
    FROM (
        SELECT
            s.form, z.size,
            unnest(generate_series(1, length(s.form) - z.size + 1)) AS p
        FROM (SELECT DISTINCT form FROM searched) AS s
        JOIN sizes AS z ON z.size < length(s.form)
        WHERE z.size >= (SELECT min_damaged FROM rules)
    ) AS windows
    UNION ALL
    SELECT form, substr(form, 1, p - 1) || substr(form, p + 1) AS variant, 'one character too many' AS damage
    FROM (
        SELECT form, unnest(generate_series(1, length)) AS p FROM forms WHERE size = length - 1
    ) AS places
    UNION ALL
    SELECT
        form,
        substr(form, 1, p - 1) || substr(form, p + 1, 1) || substr(form, p, 1) || substr(form, p + 2) AS variant,
        'two characters swapped' AS damage
    FROM (
        SELECT form, unnest(generate_series(1, length - 1)) AS p FROM forms WHERE size = length
    ) AS places
    UNION ALL
    SELECT
        form,
        regexp_replace(
            CASE
                WHEN size > length
                    THEN substr(token, 1, p - 1) || substr('0000', 1, size - length) || substr(token, p)
                WHEN substr(token, p, length - size) = substr('0000', 1, length - size)
                    THEN substr(token, 1, p - 1) || substr(token, p + length - size)
            END,
            '[./-]+', '', 'g'
        ) AS variant,
        CASE WHEN size > length THEN 'zeros dropped' ELSE 'zeros added' END AS damage
    FROM (
        SELECT s.form, s.token, length(s.form) AS length, z.size,
            unnest(generate_series(1, length(s.token))) AS p
        FROM (SELECT DISTINCT form, token FROM searched WHERE token <> '') AS s
        JOIN sizes AS z ON z.size <> length(s.form) AND z.size BETWEEN length(s.form) - 4 AND length(s.form) + 4
    ) AS places
    WHERE (p = 1 OR substr(token, p - 1, 1) IN ('-', '.', '/')) AND regexp_matches(substr(token, p, 1), '[0-9]')
) AS every_variant
WHERE variant <> form OR damage = 'other characters inside it'
