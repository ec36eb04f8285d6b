-- This step is a view: its rows are not stored.
-- One row per line, question and reason why a person has to decide: the rows of `question_doubts`, and those of
-- `exhausted_requests` for question 7.
SELECT entry_id, question, why FROM question_doubts
UNION ALL
SELECT entry_id, 7 AS question, 'it is fully paid already' AS why
FROM exhausted_requests
