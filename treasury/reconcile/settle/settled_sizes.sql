-- The lengths of settled codes, and one of the families with such a code.
SELECT length(code) AS size, min(family) AS family
FROM settled_requests
WHERE code IS NOT NULL
GROUP BY length(code)
