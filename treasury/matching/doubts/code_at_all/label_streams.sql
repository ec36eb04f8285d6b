-- One row per field of a line with an unlikely code (see `unlikely_codes`), with the field's words (`stream`).
-- There is one space before, after and between words. Accents, and dots, slashes and hyphens inside a word are
-- removed, and so are words for "number" before a number. The sign "|" marks the end of a phrase. A colon, "="
-- or "#" does not end one.
--
-- Every field except the remittance text has a second row, in which the whole field is one word.
WITH texts_read AS (
    SELECT f.entry_id, f.field, f.is_plain AND NOT regexp_matches(f.text, '[./-]|  ') AS is_stream,
        CASE
            WHEN bit_length(f.text) = 8 * CAST(length(f.text) AS BIGINT) THEN f.text
            ELSE regexp_replace(translate(upper(f.text), k.accented, k.plain), '\p{M}+', '', 'g')
        END AS text
    FROM reference_fields AS f
    SEMI JOIN (
        SELECT a.entry_id
        FROM inexact_pairs AS a
        JOIN unlikely_codes AS k ON k.code = a.code
    ) AS n ON n.entry_id = f.entry_id
    CROSS JOIN name_folding AS k
)
SELECT entry_id, field,
    ' ' || trim(regexp_replace(
        CASE
            WHEN is_stream THEN ' ' || phrases || ' '
            ELSE regexp_replace(regexp_replace(
                regexp_replace(' ' || phrases || ' ', ' [./-]+(?: |$)', ' | ', 'g'), '[./-]+', '', 'g'), ' +', ' ', 'g')
        END,
        ' (?:N|NO|NR|NUM|NUMMER|NUMERO|NUMBER|NUMER) ([^ |]*[0-9])', ' \1', 'g'
    )) || ' ' AS stream
FROM (
    SELECT entry_id, field, is_stream,
        CASE
            WHEN is_stream THEN text
            ELSE regexp_replace(
                regexp_replace(text, '[:#=\x{B0}\x{BA}]+', ' ', 'g'), '[^\p{L}\p{N}\p{M} ./-]+', ' | ', 'g'
            )
        END AS phrases
    FROM texts_read
) AS divided_phrases
UNION
SELECT entry_id, field, ' ' || regexp_replace(text, '[^\p{L}\p{N}]+', '', 'g') || ' ' AS stream
FROM texts_read
WHERE field <> 'remittance'
