-- One row per text that may be a damaged code, with the form that is compared with codes (`compared`). A letter
-- of another script becomes its Latin look-alike. Any other character except A to Z and digits becomes a
-- question mark. `is_end`: a bank may have cut off the text in at least one line.
--
-- For speed, many texts are joined into one value, because `translate` builds its character map for every value.
WITH every_form AS (
    SELECT form, bool_or(is_end) AS is_end, bit_length(form) = 8 * CAST(length(form) AS BIGINT) AS is_ascii
    FROM searched_texts
    GROUP BY form
),
translated AS (
    SELECT is_end, unnest(forms) AS form,
        unnest(string_split(translate(array_to_string(forms, ' '), k.foreign_letters, k.latin), ' ')) AS latin
    FROM (
        SELECT is_end, list_sort(array_agg(form)) AS forms
        FROM every_form
        WHERE NOT is_ascii
        GROUP BY is_end, substr(md5(form), 1, 2)
    ) AS batches
    CROSS JOIN latin_shapes AS k
)
SELECT form, form AS compared, is_end FROM every_form WHERE is_ascii
UNION ALL
SELECT form, regexp_replace(latin, '[^A-Z0-9]', '?', 'g') AS compared, is_end FROM translated
