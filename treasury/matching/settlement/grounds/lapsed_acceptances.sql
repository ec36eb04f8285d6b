-- One row per line that a person accepted for an expectation that no longer exists.
SELECT decision.entry_id, 'accepted for ' || min(decision.expectation_id) || ', which is not expected any more' AS reason
FROM decisions AS decision
ANTI JOIN expectations AS expectation ON expectation.expectation_id = decision.expectation_id
WHERE decision.verdict = 'accept'
GROUP BY decision.entry_id
