-- One row per distinct length of a known code, or of a code's body: the part after the check digits of an RF
-- reference, without leading zeros (see `code_bodies`).
SELECT size
FROM code_lengths
UNION
SELECT length(body) AS size
FROM code_bodies
WHERE code LIKE 'RF%' OR code LIKE '0%'
