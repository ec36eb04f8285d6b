-- How long the codes are.
SELECT length(code) AS size
FROM codes
GROUP BY length(code)
