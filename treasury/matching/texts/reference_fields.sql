-- One row per non-empty reference field of a line. Its `text` has the letters A to Z in upper case, one kind of
-- dash, and plain letters and digits in place of their other forms (`A` for a full-width `Ａ`). Other letters
-- stay unchanged, so that they never become a letter of a code. `is_plain`: the text has only letters from A to
-- Z, digits, spaces, dots, slashes and hyphens.
--
-- Control characters other than tabs and line breaks, and all escaped ones (`\X0D`), become the invisible
-- character U+2060, which never divides a token. A character that stands for several characters becomes U+20DD,
-- which is treated like a mark over a letter. The tag of a subfield (`SVWZ+`) becomes four spaces and a line
-- break. Except for escaped control characters, the text keeps its length, which shows whether a bank cut it
-- off.
--
-- For speed, many texts are joined by U+001F into one value, because `translate` builds its character map for
-- every value. In the texts themselves, U+001F becomes U+2060 beforehand.
WITH every_field AS (
    SELECT entry_id, field, text,
        bit_length(text) = 8 * CAST(length(text) AS BIGINT) AS is_ascii,
        bit_length(text) > 8 * CAST(length(text) AS BIGINT) AND regexp_matches(text, '[\x{AA}-\x{BA}\x{132}-\x{133}\x{1C4}-\x{1CC}\x{1F1}-\x{1F3}\x{2B0}-\x{2FF}\x{34F}\x{115F}-\x{1160}\x{17B4}-\x{17B5}\x{180B}-\x{180F}\x{1D2C}-\x{1DBF}\x{2024}\x{2070}-\x{218F}\x{2460}-\x{24FF}\x{2C7C}-\x{2C7D}\x{3000}\x{3164}\x{3250}-\x{33FF}\x{A69C}-\x{AB6F}\x{FB00}-\x{FB06}\x{FB29}\x{FE00}-\x{FE6F}\x{FF00}-\x{FFEF}\x{10780}-\x{107BF}\x{1D400}-\x{1D7FF}\x{1F100}-\x{1F1FF}\x{1FBF0}-\x{1FBF9}\x{E0100}-\x{E01EF}]|[^\P{Nd}0-9]') AS has_forms
    FROM (
        SELECT entry_id, 'end_to_end_id' AS field, replace(end_to_end_id, chr(31), '⁠') AS text FROM line_texts
        UNION ALL
        SELECT entry_id, 'creditor_reference' AS field, replace(creditor_reference, chr(31), '⁠') AS text FROM line_texts
        UNION ALL
        SELECT entry_id, 'remittance' AS field, replace(remittance, chr(31), '⁠') AS text FROM line_texts
    ) AS f
    WHERE text IS NOT NULL
),
plain_texts AS (
    SELECT unnest(texts) AS text,
        unnest(string_split(translate(array_to_string(texts, chr(31)), k.written, k.meant), chr(31))) AS plain
    FROM (
        SELECT list_sort(array_agg(text)) AS texts
        FROM (SELECT DISTINCT text FROM every_field WHERE has_forms) AS f
        GROUP BY substr(md5(text), 1, 2)
    ) AS batches
    CROSS JOIN letter_forms AS k
)
SELECT entry_id, field,
    CASE
        WHEN is_plain THEN text
        WHEN contains(text, '+')
            THEN regexp_replace(regexp_replace(text, '[^\P{Cc}\t\n\r]|\\X[0-9A-F]{2}', '⁠', 'g'),
                '(EREF|KREF|MREF|CREF|CRED|DEBT|COAM|OAMT|SVWZ|SVCL|ABWA|ABWE|PURP|IBAN|ISDT|RTRN)\+', '    ' || chr(10), 'g')
        ELSE regexp_replace(text, '[^\P{Cc}\t\n\r]|\\X[0-9A-F]{2}', '⁠', 'g')
    END AS text,
    is_plain
FROM (
    SELECT entry_id, field, text, NOT regexp_matches(text, '[^A-Z0-9 ./-]') AS is_plain
    FROM (
        SELECT f.entry_id, f.field,
            CASE
                WHEN f.is_ascii THEN upper(f.text)
                WHEN f.has_forms THEN p.plain
                ELSE translate(f.text, 'abcdefghijklmnopqrstuvwxyz‐‑‒–—―−⁃', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ--------')
            END AS text
        FROM every_field AS f
        LEFT JOIN plain_texts AS p ON p.text = f.text
    ) AS in_upper_case
) AS written_alike
