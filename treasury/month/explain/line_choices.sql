-- One row per expectation to which the explained line belongs or may belong (a candidate), the best first.
SELECT candidate.rank, candidate.expectation_id, expectation.code AS reference, candidate.score, candidate.reason, candidate.lost
FROM candidates AS candidate
LEFT JOIN expectations AS expectation ON expectation.expectation_id = candidate.expectation_id
WHERE candidate.entry_id = ?
ORDER BY candidate.rank
