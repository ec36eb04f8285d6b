-- One row per line that names several expectations by whole or structured references. `code` and `other_code`
-- are the first and the last of their codes in alphabetical order, and `tier` is the strongest tier. `named` is
-- the number of these expectations, `viable` the number of those without a contradiction. `any_id` is the first
-- of them by id, and `contradiction` is one of their contradictions, or null. `is_single`: all have the same
-- code, and exactly one has no contradiction.
SELECT
    p.entry_id,
    min(p.code) AS code,
    max(p.code) AS other_code,
    min_by(p.tier, p.tier_rank) AS tier,
    count(*) AS named,
    count(*) FILTER (WHERE p.contradiction IS NULL) AS viable,
    min(p.code) = max(p.code) AND count(*) FILTER (WHERE p.contradiction IS NULL) = 1 AS is_single,
    min(p.expectation_id) AS any_id,
    min(p.contradiction) AS contradiction
FROM reference_pairs AS p
JOIN (
    SELECT entry_id FROM reference_pairs WHERE is_whole GROUP BY entry_id HAVING count(*) > 1
) AS m ON m.entry_id = p.entry_id
WHERE p.is_whole
GROUP BY p.entry_id
