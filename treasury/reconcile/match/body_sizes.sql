-- How long the bodies of codes are: no more lengths than the longest has characters.
SELECT length(body) AS size
FROM code_bodies
GROUP BY length(body)
