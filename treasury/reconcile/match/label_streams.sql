-- The text of each line that names a code too generic to prove anything, as words with one space between and around
-- them: separators inside a word dropped, and "|" at the end of a phrase. A colon or "#" after a label ends no phrase.
SELECT entry_id, field,
    ' ' || trim(regexp_replace(regexp_replace(
        regexp_replace(' ' || phrases || ' ', ' [./-]+(?: |$)', ' | ', 'g'), '[./-]+', '', 'g'), ' +', ' ', 'g'
    )) || ' ' AS stream
FROM (
    SELECT f.entry_id, f.field,
        regexp_replace(
            regexp_replace(f.text, '[:#=\x{B0}\x{BA}]+', ' ', 'g'), '[^\p{L}\p{N}\p{M} ./-]+', ' | ', 'g'
        ) AS phrases
    FROM fields AS f
    SEMI JOIN (
        SELECT a.entry_id
        FROM inexact_pairs AS a
        JOIN unlikely_codes AS k ON k.code = a.code
    ) AS n ON n.entry_id = f.entry_id
) AS divided_phrases
