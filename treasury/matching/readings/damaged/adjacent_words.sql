-- One row per field of a line in which a whole, structured or split code was found, with the field's other
-- words, which are searched for a second code. Slashes and dots inside words are removed. A field with slashes,
-- dots or tags of raw subfields (`?20`) has further rows (`is_divided`), in which slashes, dots and tags divide
-- words. Letters of other scripts become their Latin look-alikes. Many texts are joined for one call of
-- `translate`, which builds its character map for every value.
WITH texts_left AS (
    SELECT s.entry_id, trim(replace(replace(substr(s.spaced, 1, u.max_text), '| ', ''), '|', '')) AS words,
        FALSE AS is_divided
    FROM spaced_fields AS s
    CROSS JOIN rules AS u
    WHERE regexp_matches(s.spaced, '[0-9]') AND (
        s.is_named OR s.entry_id IN (SELECT entry_id FROM structured_references UNION SELECT entry_id FROM rejoined_codes)
    )
    UNION ALL
    SELECT entry_id, trim(regexp_replace(
        replace(replace(' ' || divided || ' ', ' ' || code || ' ', ' '), ' ' || other_code || ' ', ' '), ' +', ' ', 'g'
    )) AS words, TRUE AS is_divided
    FROM (
        SELECT f.entry_id, coalesce(f.code, '|') AS code, coalesce(f.other_code, '|') AS other_code,
            replace(regexp_replace(substr(f.text, 1, u.max_text), '[^\p{L}\p{N}-]+', '  ', 'g'), '-', '') AS divided
        FROM (
            SELECT entry_id, code, other_code, text
            FROM searched_fields
            WHERE contains(text, '/') OR contains(text, '.')
            UNION ALL
            SELECT entry_id, code, other_code, regexp_replace(text, '\?[0-9]{2}', '', 'g') AS text
            FROM searched_fields
            WHERE NOT is_plain AND regexp_matches(text, '\?[0-9]{2}')
        ) AS f
        CROSS JOIN rules AS u
        WHERE f.code IS NOT NULL
            OR f.entry_id IN (SELECT entry_id FROM structured_references UNION SELECT entry_id FROM rejoined_codes)
    ) AS divided_texts
),
latin_texts AS (
    SELECT unnest(texts) AS words,
        unnest(string_split(translate(array_to_string(texts, chr(31)), k.foreign_letters, k.latin), chr(31))) AS latin
    FROM (
        SELECT list_sort(array_agg(words)) AS texts
        FROM (SELECT DISTINCT words FROM texts_left WHERE bit_length(words) > 8 * CAST(length(words) AS BIGINT)) AS w
        GROUP BY substr(md5(words), 1, 2)
    ) AS batches
    CROSS JOIN latin_shapes AS k
)
SELECT t.entry_id, t.is_divided, coalesce(n.latin, t.words) AS words
FROM texts_left AS t
LEFT JOIN latin_texts AS n ON n.words = t.words
WHERE length(t.words) >= (SELECT min_code FROM rules)
