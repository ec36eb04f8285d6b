-- read through
-- Every reason why a line needs a decision: all questions before a match are collected here.
SELECT entry_id, question, why FROM question_doubts
UNION ALL
SELECT entry_id, 7 AS question, 'it is fully paid already' AS why
FROM exhausted_requests
