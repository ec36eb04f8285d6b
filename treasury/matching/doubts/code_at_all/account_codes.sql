-- One row per code that has the form of the end of an IBAN.
SELECT code
FROM (SELECT DISTINCT code FROM inexact_pairs) AS c
WHERE regexp_matches(code, '^[A-Z]{1,4}[0-9]{10,}[A-Z0-9]*$')
