-- One row per pair of a line and an expectation with a code that the line writes in another way:
-- - with other zeros before a number
-- - with a label attached to it (`INV20004008` for 20004008)
-- - with a sign or a word for "number" between its letters and its number (`CHECK #5006` or `CHECK NO 5006` for
--   CHECK-5006)
-- - after the tag of a field (`/REMI/20004008/EREF/`)
--
-- Without the zeros before numbers, the groups of letters and digits must be equal: FV/02/11/2026 is not
-- FV/21/1/2026. For speed, groups are compared only if word and code have the same `serial`. Lines that are not
-- in `unplaced_lines`, and lines with a split code, are excluded.
WITH word_codes AS (
    SELECT f.word, s.expectation_id, s.code, s.serial
    FROM (
        SELECT word, serial, trim(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
            number, '(\p{L})([0-9])', '\1 \2', 'g'), '([0-9])(\p{L})', '\1 \2', 'g'), '[^\p{L}\p{N}]+', ' ', 'g'),
            '(^| )0+([0-9])', '\1\2', 'g')) AS parts
        FROM (SELECT DISTINCT word, number, serial FROM word_serials) AS words
    ) AS f
    JOIN (
        SELECT s.expectation_id, s.code, s.serial, trim(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
            s.written_code, '(\p{L})([0-9])', '\1 \2', 'g'), '([0-9])(\p{L})', '\1 \2', 'g'), '[^\p{L}\p{N}]+', ' ', 'g'),
            '(^| )0+([0-9])', '\1\2', 'g')) AS parts
        FROM code_serials AS s
        SEMI JOIN word_serials AS f ON f.serial = s.serial
    ) AS s ON s.serial = f.serial AND s.parts = f.parts
)
SELECT DISTINCT w.entry_id, c.expectation_id, c.code, c.serial
FROM word_serials AS w
JOIN word_codes AS c ON c.word = w.word
