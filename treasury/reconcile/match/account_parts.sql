-- Is it part of an account? Lines where such a code stands behind the country and check digits of an IBAN.
SELECT DISTINCT entry_id, code
FROM (
    SELECT entry_id, code, ' ' || replace(replace(replace(words, '-', ''), '/', ' '), '.', ' ') || ' ' AS padded
    FROM (
        SELECT a.entry_id, a.code, w.words
        FROM (SELECT DISTINCT entry_id, code FROM inexact_pairs) AS a
        JOIN account_codes AS k ON k.code = a.code
        JOIN words AS w ON w.entry_id = a.entry_id
    ) AS like_accounts
) AS padded_texts
WHERE contains(padded, ' ' || code || ' ')
    AND regexp_matches(split_part(padded, ' ' || code || ' ', 1), ' [A-Z]{2}[0-9]{2} *$')
