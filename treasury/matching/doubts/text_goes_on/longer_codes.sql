-- One row per combination of a line, a code that it names, and an expectation with a longer code that begins or
-- ends with this code (question 1: does the text continue?). One of these conditions holds:
-- - The text continues to the longer code, across other characters, a line break, a subfield's tag or the next
--   field.
-- - A field, or a line of a field, ends with the named code, and its length is one at which banks cut off texts.
-- - The text continues to the longer code with one slip (typing error). The longer code has at least `min_code`
--   characters more.
-- - The longer code expects exactly the line's amount, alone or with the stated charges, and the named code does
--   not. The text ends with the named code or continues nearly to the longer one.
--
-- For the second and third condition, only one longer code is listed: the first that expects the line's amount,
-- or else the first of all. `is_cut` is false for the first condition, under which the text contains the longer
-- code completely, and true for the others.
WITH nested AS (
    SELECT DISTINCT r.entry_id, r.code AS short
    FROM code_readings AS r
    JOIN nested_codes AS n ON n.short = r.code AND n.amount IS NULL
),
texts_read AS (
    SELECT f.entry_id, f.field, f.text,
        regexp_replace(regexp_replace(f.latin, '\?[0-9]{2}', '', 'g'), '[^\p{L}\p{N}]+', '', 'g') AS letters,
        regexp_replace(f.latin, '[^\p{L}\p{N}]+', '', 'g') AS all_letters
    FROM (
        SELECT f.entry_id, f.field, f.text,
            CASE
                WHEN f.is_plain THEN substr(f.text, 1, u.max_text)
                ELSE translate(substr(f.text, 1, u.max_text), k.foreign_letters, k.latin)
            END AS latin
        FROM reference_fields AS f
        CROSS JOIN rules AS u
        CROSS JOIN latin_shapes AS k
    ) AS f
    JOIN (SELECT DISTINCT entry_id FROM nested) AS n ON n.entry_id = f.entry_id
),
folds AS (
    SELECT entry_id, fold, regexp_replace(fold, '[^\p{L}\p{N}]+', '', 'g') AS letters
    FROM (SELECT entry_id, unnest(string_split(replace(text, chr(13), ''), chr(10))) AS fold FROM texts_read) AS each
),
ends AS (
    SELECT entry_id, field, text, all_letters AS letters FROM texts_read
    UNION ALL
    SELECT entry_id, CAST(NULL AS VARCHAR) AS field, regexp_replace(text, '[\n\r]+', '', 'g') AS text, all_letters AS letters
    FROM texts_read
    UNION ALL
    SELECT entry_id, CAST(NULL AS VARCHAR) AS field, fold AS text, letters FROM folds
    UNION ALL
    SELECT entry_id, CAST(NULL AS VARCHAR) AS field, trim(regexp_replace(text, '[\s\p{Z}]+', ' ', 'g')) AS text, letters
    FROM (
        SELECT entry_id, text, all_letters AS letters FROM texts_read
        UNION ALL
        SELECT entry_id, fold AS text, letters FROM folds
    ) AS wholes
),
streams AS (
    SELECT entry_id, letters FROM texts_read
    UNION
    SELECT entry_id, all_letters AS letters FROM texts_read
    UNION
    SELECT a.entry_id, a.letters || b.letters AS letters
    FROM texts_read AS a
    JOIN texts_read AS b ON b.entry_id = a.entry_id AND b.field <> a.field
),
places AS (
    SELECT n.entry_id, n.short, s.letters, unnest(generate_series(1, length(s.letters) - length(n.short) + 1)) AS p
    FROM nested AS n
    JOIN streams AS s ON s.entry_id = n.entry_id AND contains(s.letters, n.short)
),
longer_of_amount AS (
    SELECT DISTINCT asked_amount.entry_id, asked_amount.short, nested_code.expectation_id, nested_code.code
    FROM (
        SELECT n.entry_id, n.short, l.amount, l.amount AS asked, l.currency, l.direction
        FROM nested AS n
        JOIN lines AS l ON l.entry_id = n.entry_id
        UNION
        SELECT n.entry_id, n.short, l.amount, CAST(l.amount + l.charges AS DECIMAL(38, 18)) AS asked, l.currency, l.direction
        FROM nested AS n
        JOIN lines AS l ON l.entry_id = n.entry_id
        WHERE l.charges > 0
    ) AS asked_amount
    JOIN nested_codes AS nested_code ON nested_code.short = asked_amount.short AND nested_code.amount = asked_amount.asked
    LEFT JOIN known_codes AS known_code ON known_code.code = asked_amount.short AND known_code.amount = asked_amount.amount
    LEFT JOIN known_codes AS other_known_code
        ON other_known_code.code = asked_amount.short AND other_known_code.amount = asked_amount.asked
    LEFT JOIN expectations AS expectation ON expectation.expectation_id = nested_code.expectation_id
    WHERE known_code.code IS NULL AND other_known_code.code IS NULL
        AND coalesce(expectation.currency = asked_amount.currency AND expectation.direction = asked_amount.direction, TRUE)
)
SELECT DISTINCT w.entry_id, w.short, c.expectation_id, c.code, FALSE AS is_cut
FROM (
    SELECT h.entry_id, h.short, substr(h.letters, h.p, z.size) AS form
    FROM places AS h
    JOIN code_lengths AS z ON z.size > length(h.short)
    WHERE substr(h.letters, h.p, length(h.short)) = h.short
    UNION
    SELECT h.entry_id, h.short, substr(h.letters, h.p + length(h.short) - z.size, z.size) AS form
    FROM places AS h
    JOIN code_lengths AS z ON z.size > length(h.short) AND h.p + length(h.short) > z.size
    WHERE substr(h.letters, h.p, length(h.short)) = h.short
) AS w
JOIN known_codes AS c ON c.code = w.form AND c.code <> w.short
UNION
SELECT DISTINCT cut_text.entry_id, cut_text.short, coalesce(other_nested_code.expectation_id,
    nested_code.expectation_id) AS expectation_id,
    coalesce(other_nested_code.code, nested_code.code) AS code, TRUE AS is_cut
FROM (
    SELECT n.entry_id, n.short
    FROM nested AS n
    JOIN ends AS t ON t.entry_id = n.entry_id
    JOIN cut_lengths AS k
        ON k.length = length(t.text) OR 8 * CAST(k.length AS BIGINT) = bit_length(t.text)
        OR (k.is_most AND k.field = t.field AND length(t.text) >= k.length)
    WHERE substr(t.letters, length(t.letters) - length(n.short) + 1) = n.short
) AS cut_text
JOIN lines AS line ON line.entry_id = cut_text.entry_id
JOIN nested_codes AS nested_code ON nested_code.short = cut_text.short AND nested_code.amount IS NULL
LEFT JOIN nested_codes AS other_nested_code
    ON other_nested_code.short = cut_text.short AND other_nested_code.amount = line.amount
UNION
SELECT DISTINCT h.entry_id, h.short, h.expectation_id, h.code, TRUE AS is_cut
FROM (
    SELECT place.entry_id, place.short, substr(place.letters, place.p, length(coalesce(other_nested_code.code,
        nested_code.code))) AS form,
        coalesce(other_nested_code.expectation_id, nested_code.expectation_id) AS expectation_id,
            coalesce(other_nested_code.code, nested_code.code) AS code
    FROM places AS place
    JOIN lines AS line ON line.entry_id = place.entry_id
    JOIN nested_codes AS nested_code ON nested_code.short = place.short AND nested_code.amount IS NULL
    LEFT JOIN nested_codes AS other_nested_code
        ON other_nested_code.short = place.short AND other_nested_code.amount = line.amount
    WHERE substr(place.letters, place.p, length(place.short)) = place.short
) AS h
WHERE length(h.form) = length(h.code) AND length(h.code) >= length(h.short) + (SELECT min_code FROM rules)
    AND substr(h.code, 1, length(h.short)) = h.short
    AND levenshtein(regexp_replace(h.form, '[^A-Z0-9]', '?', 'g'), h.code) = 1
UNION
SELECT DISTINCT q.entry_id, q.short, q.expectation_id, q.code, TRUE AS is_cut
FROM longer_of_amount AS q
JOIN ends AS t ON t.entry_id = q.entry_id
WHERE substr(t.letters, length(t.letters) - length(q.short) + 1) = q.short
UNION
SELECT DISTINCT f.entry_id, f.short, f.expectation_id, f.code, TRUE AS is_cut
FROM (
    SELECT q.entry_id, q.short, q.expectation_id, q.code, substr(q.code, length(q.short) + 1) AS rest,
        substr(p.letters, p.p + length(p.short), length(q.code) - length(q.short)) AS found
    FROM longer_of_amount AS q
    JOIN places AS p ON p.entry_id = q.entry_id AND p.short = q.short
    WHERE substr(p.letters, p.p, length(p.short)) = p.short AND substr(q.code, 1, length(q.short)) = q.short
) AS f
WHERE length(f.found) = length(f.rest)
    AND levenshtein(f.found, f.rest) <= CASE WHEN regexp_matches(f.found || f.rest, '^[0-9]+$') THEN 2 ELSE 1 END
