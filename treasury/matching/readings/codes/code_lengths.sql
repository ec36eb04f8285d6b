-- How long the codes are.
SELECT length(code) AS size
FROM known_codes
GROUP BY length(code)
