-- One row per line in `accepted_pairs`, with its expectation, or null if there are several. The reason says so
-- if an accepted expectation does not receive the money.
SELECT
    entry_id,
    CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
    min(reason) || CASE WHEN bool_and(counts) THEN '' ELSE '; nothing of it counts' END AS reason
FROM accepted_pairs
GROUP BY entry_id
