-- One row per reason why the explained line needs a person, with the number of the question.
SELECT DISTINCT question, why
FROM line_doubts
WHERE entry_id = ?
ORDER BY question, why
