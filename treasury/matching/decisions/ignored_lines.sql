-- The lines that a person closed, and why.
SELECT entry_id, reason
FROM decisions
WHERE verdict = 'ignore'
