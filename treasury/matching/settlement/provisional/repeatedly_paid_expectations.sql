-- One row per expectation that several lines belong to provisionally.
SELECT DISTINCT expectation_id
FROM provisional_pairs
WHERE before > 0
