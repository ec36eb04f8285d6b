-- One row per pair of a line and an expectation that it may belong to, with the strongest reason for this, by
-- tier. `score` is the reason's weight within the tier, before `ranked_candidates` considers amount and payer. A
-- whole or structured reference has no row if the line names no other expectation, has no doubt, and may be
-- matched (`proves`). A contradicted reference has a row only if another expectation with the same code is not
-- contradicted.
WITH every_clue AS (
    SELECT p.entry_id, p.expectation_id, p.given_by, p.score, p.contradiction,
        t.words || CASE WHEN p.needs = 'person' THEN ': ' || p.damage ELSE coalesce(', but ' || d.why, '') END AS reason
    FROM reference_pairs AS p
    JOIN tiers AS t ON t.given_by = p.given_by
    LEFT JOIN (
        SELECT entry_id, min(why) || CASE WHEN min(why) < max(why) THEN '; ' || max(why) ELSE '' END AS why
        FROM line_doubts GROUP BY entry_id
    ) AS d ON d.entry_id = p.entry_id
    WHERE (p.contradiction IS NULL
            OR (p.needs <> 'person' AND p.entry_id IN (SELECT entry_id FROM several_reference_lines WHERE viable > 0 AND code = other_code)))
        AND (NOT p.is_whole OR NOT p.proves
            OR p.entry_id IN (SELECT entry_id FROM several_reference_lines)
            OR d.entry_id IS NOT NULL)
    UNION ALL
    SELECT entry_id, expectation_id, 'damaged_codes' AS given_by, CAST(0.4 AS DECIMAL(6, 4)) AS score, CAST(NULL AS VARCHAR) AS contradiction,
        'damaged reference: one slip away' AS reason
    FROM slip_candidates
    UNION ALL
    SELECT entry_id, expectation_id, 'unnamed_candidates' AS given_by, CAST(0.3 AS DECIMAL(6, 4)) AS score, CAST(NULL AS VARCHAR) AS contradiction,
        'no reference; ' || tie AS reason
    FROM rival_requests
    UNION ALL
    SELECT entry_id, expectation_id, 'unnamed_candidates' AS given_by, score, CAST(NULL AS VARCHAR) AS contradiction, reason
    FROM unnamed_candidates
    UNION ALL
    SELECT entry_id, expectation_id, 'unnamed_candidates' AS given_by, CAST(0.05 AS DECIMAL(6, 4)) AS score,
        CAST(NULL AS VARCHAR) AS contradiction,
        'no reference; as much moved the other way on ' || CAST(original_date AS VARCHAR) || ': it may have come back' AS reason
    FROM unmarked_returns
    UNION ALL
    SELECT entry_id, expectation_id, 'joint_shares' AS given_by,
        CASE ways WHEN 1 THEN CAST(0.3 AS DECIMAL(6, 4)) ELSE CAST(0.1 AS DECIMAL(6, 4)) END AS score,
        CAST(NULL AS VARCHAR) AS contradiction,
        'no reference; ' || what || CASE ways WHEN 1 THEN '' ELSE ', in several ways' END AS reason
    FROM sum_candidates
),
several AS (SELECT entry_id, expectation_id FROM every_clue GROUP BY entry_id, expectation_id HAVING count(*) > 1)
SELECT c.entry_id, c.expectation_id, r.name AS tier, r.rank AS tier_rank, c.score, c.reason, c.contradiction
FROM every_clue AS c
ANTI JOIN several AS s ON s.entry_id = c.entry_id AND s.expectation_id = c.expectation_id
JOIN tiers AS r ON r.given_by = c.given_by
UNION ALL
SELECT entry_id, expectation_id, tier, tier_rank, score, reason, contradiction
FROM (
    SELECT c.entry_id, c.expectation_id, r.name AS tier, r.rank AS tier_rank, c.score, c.reason, c.contradiction
    FROM every_clue AS c
    SEMI JOIN several AS s ON s.entry_id = c.entry_id AND s.expectation_id = c.expectation_id
    JOIN tiers AS r ON r.given_by = c.given_by
    QUALIFY row_number() OVER (PARTITION BY c.entry_id, c.expectation_id ORDER BY r.rank, c.score DESC, c.reason) = 1
) AS strongest
