-- One row per reason for which a line is left to a person, with the number of its question. Not stored.
SELECT DISTINCT question, why
FROM line_doubts
WHERE entry_id = ?
ORDER BY question, why
