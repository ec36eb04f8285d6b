-- One row per line that a person set aside, with the reason.
SELECT entry_id, reason
FROM decisions
WHERE verdict = 'ignore'
