-- The code of each expectation as a token is compared with it: letters and digits, upper case.
SELECT expectation_id, code
FROM (
    SELECT expectation_id, regexp_replace(upper(code), '[^\p{L}\p{N}]+', '', 'g') AS code
    FROM expectations
) AS stripped
WHERE code <> ''
