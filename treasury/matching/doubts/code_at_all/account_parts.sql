-- One row per pair of a line and a code in its text that follows the country and the check digits of an IBAN
-- (`NL91 ABNA0417164300`). Such a code may be a part of an account number. It begins with one to four letters,
-- followed by at least ten digits.
WITH like_accounts AS (
    SELECT DISTINCT a.entry_id, a.code
    FROM inexact_pairs AS a
    JOIN (
        SELECT code
        FROM (SELECT DISTINCT code FROM inexact_pairs) AS codes
        -- Codes that look like the end of an IBAN. Each distinct code is tested only once, for speed.
        WHERE regexp_matches(code, '^[A-Z]{1,4}[0-9]{10,}[A-Z0-9]*$')
    ) AS k ON k.code = a.code
),
padded_texts AS (
    SELECT entry_id, ' ' || replace(replace(replace(words, '-', ''), '/', ' '), '.', ' ') || ' ' AS padded
    FROM field_words AS w
    SEMI JOIN like_accounts AS a ON a.entry_id = w.entry_id
    WHERE regexp_matches(words, '(^|[ ./])-*[A-Z]-*[A-Z]-*[0-9]-*[0-9]-*[ ./]')
)
SELECT DISTINCT a.entry_id, a.code
FROM like_accounts AS a
JOIN padded_texts AS w ON w.entry_id = a.entry_id AND contains(w.padded, ' ' || a.code || ' ')
WHERE regexp_matches(split_part(w.padded, ' ' || a.code || ' ', 1), ' [A-Z]{2}[0-9]{2} *$')
