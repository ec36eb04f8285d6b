-- One row per reason why a person has to decide about the explained line, with the number of the question that
-- found the reason (null if no question did).
SELECT DISTINCT question, why
FROM line_doubts
WHERE entry_id = ?
ORDER BY question, why
