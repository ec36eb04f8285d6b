-- One row per distinct length of a known code, or of the part of a code that a structured reference contains
-- (`body` in `code_bodies`).
SELECT size
FROM code_lengths
UNION
SELECT length(body) AS size
FROM code_bodies
WHERE code LIKE 'RF%' OR code LIKE '0%'
