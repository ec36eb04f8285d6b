-- One row per expectation with several lines in `provisional_pairs`.
SELECT DISTINCT expectation_id
FROM provisional_pairs
WHERE before > 0
