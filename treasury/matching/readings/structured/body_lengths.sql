-- How long the bodies of codes are, and the codes: no more lengths than the longest has characters.
SELECT size
FROM code_lengths
UNION
SELECT length(body) AS size
FROM code_bodies
WHERE code LIKE 'RF%' OR code LIKE '0%'
