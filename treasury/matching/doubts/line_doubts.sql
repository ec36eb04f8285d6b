-- read through
-- One row per line, question and reason why a person decides: `question_doubts`, and exhausted requests.
SELECT entry_id, question, why FROM question_doubts
UNION ALL
SELECT entry_id, 7 AS question, 'it is fully paid already' AS why
FROM exhausted_requests
