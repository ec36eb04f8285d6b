-- read through
-- Every reason for which a line is not settled by itself: the one place that is asked before a match.
SELECT entry_id, question, why FROM line_doubts
UNION ALL
SELECT entry_id, 7 AS question, 'nothing of it is left to be paid' AS why
FROM exhausted_requests
