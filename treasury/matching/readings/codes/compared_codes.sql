-- One row per expectation, with its code in the form that is compared with texts: letters and digits, with A to
-- Z in upper case (`PAY2026004417` for `PAY-2026-004417`). An expectation without a code has null.
--
-- An expectation is excluded if its code has no letter or digit, or is a placeholder of banks, such as
-- NOTPROVIDED. Requests that closed months settled are included if they have a code.
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
