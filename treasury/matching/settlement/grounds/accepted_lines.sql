-- One row per line that a person accepted, with its expectation, or null if there are several.
SELECT
    entry_id,
    CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
    min(reason) || CASE WHEN bool_and(counts) THEN '' ELSE '; nothing of it counts' END AS reason
FROM accepted_pairs
GROUP BY entry_id
