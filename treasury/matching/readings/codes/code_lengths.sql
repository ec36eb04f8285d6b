-- One row per length of a code.
SELECT length(code) AS size
FROM known_codes
GROUP BY length(code)
