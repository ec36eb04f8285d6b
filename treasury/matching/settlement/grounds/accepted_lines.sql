-- One row per line in `accepted_pairs`, with its expectation, or null if there are several. If none of its
-- expectations has both the currency and the direction of the line, the reason states that nothing of the line
-- counts.
SELECT
    entry_id,
    CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
    min(reason) || CASE WHEN bool_or(counts) THEN '' ELSE '; nothing of it counts' END AS reason
FROM accepted_pairs
GROUP BY entry_id
