-- The words of each field as labels are compared with them: without accents, signs and the words for "number".
SELECT w.entry_id, w.field,
    regexp_replace(regexp_replace(
        ' ' || replace(replace(replace(
            CASE
                WHEN bit_length(w.words) = 8 * CAST(length(w.words) AS BIGINT) THEN w.words
                ELSE regexp_replace(translate(upper(w.words), f.accented, f.plain), '\p{M}+', '', 'g')
            END, '-', ''), '/', ''), '.', '') || ' ',
        ' (N|NO|NR|NUM|NUMMER|NUMERO|NUMBER|NUMER) ', ' ', 'g'), ' +', ' ', 'g') AS padded
FROM words AS w
SEMI JOIN (
    SELECT entry_id FROM inexact_pairs AS p JOIN unlikely_codes AS k ON k.code = p.code
) AS n ON n.entry_id = w.entry_id
CROSS JOIN name_folding AS f
