-- This step is a view: its rows are not stored.
-- One row per pair of a line and a candidate: an expectation to which it may belong. For a line that a single
-- reference settled, this is the settled expectation. For a line that a person accepted, it is each accepted
-- expectation that receives money. Other candidates come from `ranked_candidates`. They are also listed for an
-- accepted line if its text names several codes or raises a doubt. The accepted expectation then has a second row
-- if it is one of them.
--
-- `group_id` is the first line of a group of equal payments that a person can decide as a whole. It is set on
-- the request that is assigned to the line.
SELECT r.entry_id, r.expectation_id, r.tier_rank AS tier, r.score, r.reason, r.rank, r.lost, g.group_id
FROM ranked_candidates AS r
LEFT JOIN group_assignments AS g ON g.entry_id = r.entry_id AND g.expectation_id = r.expectation_id
UNION ALL
SELECT
    r.entry_id, r.expectation_id, t.rank AS tier,
    CASE WHEN r.amount = r.expected THEN CAST(0.9 AS DECIMAL(6, 4)) ELSE CAST(0.7 AS DECIMAL(6, 4)) END AS score,
    CASE
        WHEN r.accepted_reason IS NOT NULL THEN r.accepted_reason
        ELSE t.words || CASE WHEN r.amount = r.expected THEN '; amount agrees' WHEN r.expected IS NULL THEN ''
            ELSE '; amount differs' END
    END AS reason,
    1 AS rank,
    CAST(NULL AS VARCHAR) AS lost,
    CAST(NULL AS VARCHAR) AS group_id
FROM received_shares AS r
LEFT JOIN tiers AS t ON t.name = r.tier
WHERE r.rivals = 0
UNION ALL
SELECT entry_id, expectation_id, CAST(NULL AS INTEGER) AS tier, CAST(0.7 AS DECIMAL(6, 4)) AS score, accepted_reason AS reason,
    row_number() OVER (PARTITION BY entry_id ORDER BY expectation_id) AS rank, CAST(NULL AS VARCHAR) AS lost,
    CAST(NULL AS VARCHAR) AS group_id
FROM further_shares
WHERE accepted_reason IS NOT NULL
