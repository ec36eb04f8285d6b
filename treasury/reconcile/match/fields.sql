-- The reference fields of each line, one row a field, in upper case, with other forms of letters and digits, and
-- digits of other scripts, as the plain ones and one kind of dash. A control character, or one spelled out, is invisible
-- (U+2060) and never divides a token; a sign that stands for several (U+20DD) is a mark of a letter. Letters beyond A to Z
-- stay as they are: no other letter may turn into one of a code. Each character is looked up in its page of forms:
-- `translate` would build a map of all forms for every text. The tag of a subfield (`SVWZ+`) ends a line and keeps its
-- length, by which a text that was cut is known. `is_plain`: there are only letters from A to Z, digits, spaces, dots,
-- slashes and hyphens.
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
        SELECT
            f.entry_id,
            f.field,
            CASE
                WHEN bit_length(f.text) = 8 * CAST(length(f.text) AS BIGINT) THEN upper(f.text)
                WHEN NOT regexp_matches(f.text, '[\x{AA}-\x{BA}\x{132}-\x{133}\x{1C4}-\x{1CC}\x{1F1}-\x{1F3}\x{2B0}-\x{2FF}\x{34F}\x{115F}-\x{1160}\x{17B4}-\x{17B5}\x{180B}-\x{180F}\x{1D2C}-\x{1DBF}\x{2024}\x{2070}-\x{218F}\x{2460}-\x{24FF}\x{2C7C}-\x{2C7D}\x{3000}\x{3164}\x{3250}-\x{33FF}\x{A69C}-\x{AB6F}\x{FB00}-\x{FB06}\x{FB29}\x{FE00}-\x{FE6F}\x{FF00}-\x{FFEF}\x{10780}-\x{107BF}\x{1D400}-\x{1D7FF}\x{1F100}-\x{1F1FF}\x{1FBF0}-\x{1FBF9}\x{E0100}-\x{E01EF}]|[^\P{Nd}0-9]')
                    THEN translate(f.text, 'abcdefghijklmnopqrstuvwxyz‐‑‒–—―−⁃', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ--------')
                ELSE array_to_string(list_transform(
                    string_split(f.text, ''),
                    c -> coalesce(nullif(substr(k.pages[CAST(ascii(c) // 32 + 1 AS INTEGER)], CAST(ascii(c) % 32 + 1 AS INTEGER), 1), ''), c)
                ), '')
            END AS text
        FROM (
            SELECT entry_id, 'end_to_end_id' AS field, end_to_end_id AS text FROM texts
            UNION ALL
            SELECT entry_id, 'creditor_reference' AS field, creditor_reference AS text FROM texts
            UNION ALL
            SELECT entry_id, 'remittance' AS field, remittance AS text FROM texts
        ) AS f
        CROSS JOIN letter_forms AS k
        WHERE f.text IS NOT NULL
    ) AS in_upper_case
) AS written_alike
