-- One row per expectation, with its code in the form that is compared with texts: letters and digits in upper
-- case (`PAY2026004417` for `PAY-2026-004417`). Requests that closed months settled are included. Expectations
-- with a placeholder of banks as their code, such as NOTPROVIDED, are excluded.
SELECT expectation_id, code, amount
FROM (
    SELECT
        expectation_id,
        CASE
            WHEN regexp_matches(code, '[^A-Z0-9-]') THEN regexp_replace(translate(code, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), '[^\p{L}\p{N}]+', '', 'g')
            ELSE replace(code, '-', '')
        END AS code,
        amount
    FROM expectations
) AS stripped
LEFT JOIN (SELECT placeholder FROM placeholders UNION SELECT '' AS placeholder) AS p ON p.placeholder = code
WHERE p.placeholder IS NULL
UNION ALL
SELECT expectation_id, code, amount
FROM settled_requests
WHERE code IS NOT NULL
