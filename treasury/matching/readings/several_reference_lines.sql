-- One row per line with several whole references: the first and the last code, the strongest tier, the number
-- of expectations that the line names (`named`), the number of these without a contradiction (`viable`), and
-- the first contradiction. `is_single`: all references have the same code, and exactly one of their
-- expectations has no contradiction.
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
