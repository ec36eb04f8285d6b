-- One row per line that a person excluded from matching, with the person's reason.
SELECT entry_id, reason
FROM decisions
WHERE verdict = 'ignore'
