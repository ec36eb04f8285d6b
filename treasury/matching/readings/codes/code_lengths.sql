-- One row per distinct length of a known code.
SELECT length(code) AS size
FROM known_codes
GROUP BY length(code)
