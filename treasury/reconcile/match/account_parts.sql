-- Is it part of an account? Lines where what an IBAN ends with, which a code may look like, stands behind the country and
-- check digits of one.
SELECT DISTINCT a.entry_id, a.code
FROM inexact_pairs AS a
JOIN (
    SELECT DISTINCT code FROM inexact_pairs WHERE regexp_matches(code, '^[A-Z]{1,4}[0-9]{10,}[A-Z0-9]*$')
) AS k ON k.code = a.code
JOIN (
    SELECT entry_id, ' ' || replace(replace(replace(words, '-', ''), '/', ' '), '.', ' ') || ' ' AS padded FROM words
) AS w ON w.entry_id = a.entry_id
WHERE contains(w.padded, ' ' || a.code || ' ')
    AND regexp_matches(split_part(w.padded, ' ' || a.code || ' ', 1), ' [A-Z]{2}[0-9]{2} *$')
