-- One row per line and expectation that a person rejected: the line does not belong to the expectation.
SELECT entry_id, expectation_id
FROM decisions
WHERE verdict = 'reject'
