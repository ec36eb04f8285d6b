-- What points from a line to an expectation, of every tier, except where one whole reference settled it alone;
-- of a line and an expectation the strongest tier.
SELECT entry_id, expectation_id, tier, score, reason, contradiction
FROM (
    SELECT p.entry_id, p.expectation_id, p.tier, p.score, p.contradiction,
        CASE p.tier WHEN 1 THEN 'whole reference' WHEN 3 THEN 'structured reference, check digits hold'
            WHEN 2 THEN 'reference split by a space or line break' ELSE 'damaged reference: ' || p.damage END
            || CASE WHEN p.tier <= 3 THEN coalesce(', but ' || d.why, '') ELSE '' END AS reason
    FROM pairs AS p
    LEFT JOIN (
        SELECT entry_id, min(why) || CASE WHEN min(why) < max(why) THEN '; ' || max(why) ELSE '' END AS why
        FROM doubts GROUP BY entry_id
    ) AS d ON d.entry_id = p.entry_id
    WHERE (p.contradiction IS NULL
            OR (p.tier <> 4 AND p.entry_id IN (SELECT entry_id FROM crowded WHERE viable > 0 AND code = other_code)))
        AND (p.tier IN (2, 4) OR NOT p.proves
            OR p.entry_id IN (SELECT entry_id FROM crowded)
            OR d.entry_id IS NOT NULL)
    UNION ALL
    SELECT entry_id, expectation_id, 4 AS tier, CAST(0.4 AS DECIMAL(6, 4)) AS score, CAST(NULL AS VARCHAR) AS contradiction,
        'damaged reference: one slip away' AS reason
    FROM slips
    UNION ALL
    SELECT entry_id, expectation_id, 5 AS tier,
        CAST(coalesce(0.5 - CAST(least(days, 40) AS DECIMAL(6, 4)) * CAST(0.01 AS DECIMAL(6, 4)), 0.3) AS DECIMAL(6, 4)) AS score,
        CAST(NULL AS VARCHAR) AS contradiction,
        CASE WHEN days IS NULL THEN 'no reference; reached its account'
            WHEN days = 0 THEN 'no reference; requested the same day'
            WHEN days = 1 THEN 'no reference; requested the day before'
            ELSE 'no reference; requested ' || CAST(days AS VARCHAR) || ' days before' END AS reason
    FROM unreferenced
    UNION ALL
    SELECT entry_id, expectation_id, 5 AS tier, CAST(0.05 AS DECIMAL(6, 4)) AS score,
        CAST(NULL AS VARCHAR) AS contradiction,
        'no reference; as much moved the other way on ' || CAST(original_date AS VARCHAR) || ': it may have come back' AS reason
    FROM unmarked_returns
    UNION ALL
    SELECT entry_id, expectation_id, 6 AS tier,
        CASE ways WHEN 1 THEN CAST(0.3 AS DECIMAL(6, 4)) ELSE CAST(0.1 AS DECIMAL(6, 4)) END AS score,
        CAST(NULL AS VARCHAR) AS contradiction,
        'no reference; ' || what || CASE ways WHEN 1 THEN '' ELSE ', in several ways' END AS reason
    FROM sums
) AS every_clue
QUALIFY row_number() OVER (PARTITION BY entry_id, expectation_id ORDER BY tier, score DESC, reason) = 1
