-- The pairs of which a person said that the line does not belong to the expectation.
SELECT entry_id, expectation_id
FROM decisions
WHERE verdict = 'reject'
