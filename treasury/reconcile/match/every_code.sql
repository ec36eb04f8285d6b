-- The code of each expectation as a token is compared with it: letters and digits, upper case.
SELECT expectation_id, code
FROM (
    SELECT
        expectation_id,
        CASE
            WHEN regexp_matches(code, '[^A-Z0-9-]') THEN regexp_replace(translate(code, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), '[^\p{L}\p{N}]+', '', 'g')
            ELSE replace(code, '-', '')
        END AS code
    FROM expectations
) AS stripped
LEFT JOIN placeholders AS p ON p.placeholder = code
WHERE code <> '' AND p.placeholder IS NULL
