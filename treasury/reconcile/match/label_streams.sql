-- The text of each line that names a code which proves nothing by itself, as words with one space between them and
-- around them: signs inside a word dropped, and "|" where a phrase ends. What a label and its number may have between
-- them divides no phrase.
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
