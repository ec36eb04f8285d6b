-- The code of each expectation as a token is compared with it: letters and digits, upper case.
SELECT expectation_id, code
FROM (
    SELECT
        expectation_id,
        CASE
            WHEN regexp_matches(code, '[^A-Za-z0-9./-]') THEN regexp_replace(upper(code), '[^\p{L}\p{N}]+', '', 'g')
            ELSE replace(replace(replace(upper(code), '-', ''), '/', ''), '.', '')
        END AS code
    FROM expectations
) AS stripped
WHERE code <> '' AND code NOT IN (SELECT placeholder FROM placeholders)
