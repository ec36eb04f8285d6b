-- One row per line that a person accepted, with its expectation if it is a single one.
SELECT
    entry_id,
    CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
    min(reason) || CASE WHEN bool_and(counts) THEN '' ELSE '; nothing of it counts' END AS reason
FROM accepted_pairs
GROUP BY entry_id
