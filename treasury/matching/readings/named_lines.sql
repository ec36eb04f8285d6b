-- This step is a view: its rows are not stored.
-- One row per line with a whole or structured reference in `reference_pairs`. The columns are those of
-- `several_reference_lines`, without `is_single`.
SELECT entry_id, code, other_code, tier, named, viable, any_id, contradiction
FROM several_reference_lines
UNION ALL
SELECT
    p.entry_id, p.code, p.code AS other_code, p.tier, 1 AS named,
    CASE WHEN p.contradiction IS NULL THEN 1 ELSE 0 END AS viable, p.expectation_id AS any_id, p.contradiction
FROM reference_pairs AS p
LEFT JOIN several_reference_lines AS c ON c.entry_id = p.entry_id
WHERE p.is_whole AND c.entry_id IS NULL
