-- One row per line with candidates, with the best candidate, its reason, and the second candidate
-- (`runner_up_id`) if it has the same tier. `margin` is the difference of their scores. `suggestion` is the
-- reason with remarks that prevent an automatic match, such as "pending at bank".
WITH best AS (
    SELECT *, sum(CASE WHEN tier_rank = 1 AND score > 0 THEN 1 ELSE 0 END) OVER (PARTITION BY entry_id) AS equals
    FROM ranked_candidates
    QUALIFY rank = 1
)
SELECT
    best.entry_id,
    best.expectation_id,
    best.tier,
    best.reason,
    best.reason
        || CASE WHEN coalesce(line.entry_status, 'BOOK') <> 'BOOK' THEN '; pending at bank' ELSE '' END
        || CASE WHEN line.proof = 'fails' THEN '; its statement is not proved' ELSE '' END
        || CASE WHEN line.is_twin THEN '; another line is alike in everything' ELSE '' END
        || CASE WHEN line.is_reversal OR line.return_reason IS NOT NULL THEN '; marked as a return' ELSE '' END
        || CASE WHEN best.equals > 1 THEN ', as of ' || CAST(best.equals AS VARCHAR) || ' expectations' ELSE '' END
        AS suggestion,
    runner_up.expectation_id AS runner_up_id,
    CAST(best.score - runner_up.score AS DECIMAL(7, 4)) AS margin
FROM best
JOIN lines AS line ON line.entry_id = best.entry_id
LEFT JOIN ranked_candidates AS runner_up
    ON runner_up.entry_id = best.entry_id AND runner_up.rank = 2 AND runner_up.tier = best.tier
