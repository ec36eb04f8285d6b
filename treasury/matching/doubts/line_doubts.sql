-- This step is a view: its rows are not stored.
-- One row per combination of a line, a question, and a reason why a person has to decide about the line. These
-- are the rows of `question_doubts` and, for question 7, those of `exhausted_requests`.
SELECT entry_id, question, why FROM question_doubts
UNION ALL
SELECT entry_id, 7 AS question, 'it is fully paid already' AS why
FROM exhausted_requests
