-- One row per reason why a line needs a person, with the number of its question. Not stored.
SELECT DISTINCT question, why
FROM line_doubts
WHERE entry_id = ?
ORDER BY question, why
