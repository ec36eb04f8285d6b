-- The reference fields of each line, one row a field, in upper case, with full-width characters as their plain ones
-- and one kind of dash. A control character, or one spelled out, is invisible (U+2060) and never divides a token.
-- Letters beyond A to Z stay as they are: no other letter may turn into one of a code. `is_plain`: there are only
-- letters from A to Z, digits, spaces, dots, slashes and hyphens.
SELECT entry_id, field, text, NOT regexp_matches(text, '[^A-Z0-9 ./-]') AS is_plain
FROM (
    SELECT
        entry_id,
        field,
        regexp_replace(
            CASE
                WHEN bit_length(text) = 8 * CAST(length(text) AS BIGINT) THEN upper(text)
                ELSE translate(
                    text,
                    'abcdefghijklmnopqrstuvwxyz‐‑‒–—―−﹘﹣⁃！＂＃＄％＆＇（）＊＋，－．／０１２３４５６７８９：；＜＝＞？＠ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ［＼］＾＿｀ａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ｛｜｝～',
                    'ABCDEFGHIJKLMNOPQRSTUVWXYZ----------!"#$%&''()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`ABCDEFGHIJKLMNOPQRSTUVWXYZ{|}~'
                )
            END,
            '[^\P{Cc}\t\n\r]|\\X[0-9A-F]{2}', '⁠', 'g'
        ) AS text
    FROM (
        SELECT entry_id, 'end_to_end_id' AS field, end_to_end_id AS text FROM texts
        UNION ALL
        SELECT entry_id, 'creditor_reference' AS field, creditor_reference AS text FROM texts
        UNION ALL
        SELECT entry_id, 'remittance' AS field, remittance AS text FROM texts
    ) AS every_field
    WHERE text IS NOT NULL
) AS written_alike
