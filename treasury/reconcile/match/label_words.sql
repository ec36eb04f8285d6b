-- The words of each field as labels are compared with them: without accents, signs and the words for "number";
-- a reference field also without what divides it.
SELECT w.entry_id, w.field,
    regexp_replace(regexp_replace(
        ' ' || replace(replace(replace(
            CASE
                WHEN bit_length(w.words) = 8 * CAST(length(w.words) AS BIGINT) THEN w.words
                ELSE regexp_replace(translate(upper(w.words), f.accented, f.plain), '\p{M}+', '', 'g')
            END, '-', ''), '/', ''), '.', '') || ' ',
        ' (N|NO|NR|NUM|NUMMER|NUMERO|NUMBER|NUMER) ', ' ', 'g'), ' +', ' ', 'g') AS padded
FROM (
    SELECT entry_id, field, words FROM words
    UNION ALL
    SELECT entry_id, field, regexp_replace(text, '[^\p{L}\p{N}]+', '', 'g') AS words FROM fields WHERE field <> 'remittance'
) AS w
SEMI JOIN (
    SELECT entry_id FROM inexact_pairs AS p JOIN unlikely_codes AS k ON k.code = p.code
) AS n ON n.entry_id = w.entry_id
CROSS JOIN name_folding AS f
