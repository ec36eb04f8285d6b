-- read through
-- The words next to the codes that a line names, with letters of other scripts replaced by their Latin look-alikes:
-- without separators; also divided at slashes and dots; and without the tags of raw subfields.
SELECT entry_id, is_divided,
    CASE
        WHEN bit_length(words) = 8 * CAST(length(words) AS BIGINT) THEN words
        ELSE translate(words, k.foreign_letters, k.latin)
    END AS words
FROM (
    SELECT s.entry_id, trim(replace(replace(substr(s.spaced, 1, u.max_text), '| ', ''), '|', '')) AS words,
        FALSE AS is_divided
    FROM spaced AS s
    CROSS JOIN rules AS u
    WHERE regexp_matches(s.spaced, '[0-9]') AND (
        s.is_named OR s.entry_id IN (SELECT entry_id FROM structured UNION SELECT entry_id FROM rejoined)
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
            FROM looked_at
            WHERE contains(text, '/') OR contains(text, '.')
            UNION ALL
            SELECT entry_id, code, other_code, regexp_replace(text, '\?[0-9]{2}', '', 'g') AS text
            FROM looked_at
            WHERE NOT is_plain AND regexp_matches(text, '\?[0-9]{2}')
        ) AS f
        CROSS JOIN rules AS u
        WHERE f.code IS NOT NULL
            OR f.entry_id IN (SELECT entry_id FROM structured UNION SELECT entry_id FROM rejoined)
    ) AS divided_texts
) AS texts_left
CROSS JOIN latin_shapes AS k
WHERE length(words) >= (SELECT min_code FROM rules)
