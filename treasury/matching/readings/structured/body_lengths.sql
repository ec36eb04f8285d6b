-- One row per length of a code or of a code's body (see `code_bodies`).
SELECT size
FROM code_lengths
UNION
SELECT length(body) AS size
FROM code_bodies
WHERE code LIKE 'RF%' OR code LIKE '0%'
