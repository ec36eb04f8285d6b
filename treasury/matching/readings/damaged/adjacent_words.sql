-- One row per field in `spaced_fields`, with the words of the field in which a second code is searched
-- (`words`). The line contains a whole, structured or split code, and the field has a digit. Codes that the line
-- names in full are removed from the words. Hyphens, slashes and dots inside words are removed.
--
-- Fields in `searched_fields` with slashes or dots have a further row (`is_divided`), in which all punctuation
-- except hyphens divides words. Fields with tags of raw subfields (`?20`) have one more such row, in which the
-- tags are removed.
--
-- Only the first `max_text` characters of a field are read. Texts of fewer than `min_code` characters are
-- excluded. Letters of other scripts become their Latin look-alikes. For speed, many texts are joined into one
-- value, because `translate` builds its character map for every value.
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
