-- One row per pair of a line and an expectation that, as a person decided, do not belong together.
SELECT entry_id, expectation_id
FROM decisions
WHERE verdict = 'reject'
