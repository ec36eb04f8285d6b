-- The candidates of every line with several clues, or without a settling one, best first: tier, score within the
-- tier, reason, and for all but the first why they lost. A contradicted candidate is listed only if another one is not
-- contradicted; a rejected one never. In a group of payments and requests that fit each other equally, each payment has
-- the request with its own position first. Reasons are worded only for the candidates that are kept.
WITH scored AS (
    SELECT clue.entry_id, clue.expectation_id, clue.tier, clue.tier_rank, clue.contradiction, clue.reason,
        expectation.amount IS NOT NULL AS has_amount, expectation.amount = line.amount AS is_amount,
            known.since < line.booking_date AS is_known,
        equal_group.size AS group_size, coalesce(equal_group.is_assigned, FALSE) AS is_assigned,
        CAST(CASE WHEN clue.contradiction IS NOT NULL THEN 0 ELSE clue.score
            + CASE WHEN expectation.amount = line.amount THEN 0.2 ELSE 0 END
            + CASE WHEN known.since < line.booking_date THEN 0.1 ELSE 0 END
        END AS DECIMAL(6, 4)) AS score
    FROM candidate_clues AS clue
    JOIN line_parties AS line ON line.entry_id = clue.entry_id
    JOIN expectations AS expectation ON expectation.expectation_id = clue.expectation_id
    LEFT JOIN known_counterparties AS known
        ON known.kind = expectation.kind AND known.party = line.party
        AND known.tie = coalesce(expectation.account, CASE WHEN expectation.amount IS NULL THEN
            expectation.expectation_id END, '')
    LEFT JOIN (SELECT entry_id, expectation_id FROM decisions WHERE verdict = 'reject') AS rejected
        ON rejected.entry_id = clue.entry_id AND rejected.expectation_id = clue.expectation_id
    LEFT JOIN equal_groups AS equal_group
        ON equal_group.entry_id = clue.entry_id AND equal_group.expectation_id = clue.expectation_id
        AND equal_group.tier = clue.tier
    WHERE rejected.entry_id IS NULL
),
levelled AS (
    SELECT s.*, CASE WHEN s.group_size IS NULL THEN s.score ELSE m.score END AS level
    FROM scored AS s
    LEFT JOIN (
        SELECT entry_id, tier, max(score) AS score
        FROM scored
        WHERE group_size IS NOT NULL
        GROUP BY entry_id, tier
    ) AS m ON m.entry_id = s.entry_id AND m.tier = s.tier
)
SELECT
    entry_id, expectation_id, tier, tier_rank, level AS score,
    reason
        || CASE WHEN is_amount THEN '; amount agrees' WHEN has_amount AND NOT contains(reason, 'what remains') THEN '; amount differs' ELSE '' END
        || CASE WHEN is_known THEN '; known counterparty' ELSE '' END
        || CASE WHEN is_assigned AND group_size > 1 THEN '; one of ' || CAST(group_size AS VARCHAR)
            || ' payments that fit as many requests equally: assigned by date, nothing tells them apart' ELSE '' END AS reason,
    rank,
    CASE
        WHEN rank = 1 THEN NULL
        WHEN contradiction IS NOT NULL THEN contradiction
        WHEN tier_rank > first_tier THEN 'weaker evidence'
        WHEN level < first_level THEN 'less agrees'
        ELSE 'nothing tells them apart'
    END AS lost
FROM (
    SELECT *,
        row_number() OVER (PARTITION BY entry_id ORDER BY tier_rank, level DESC, is_assigned DESC, expectation_id) AS rank,
        first_value(tier_rank) OVER (PARTITION BY entry_id ORDER BY tier_rank, level DESC, is_assigned DESC, expectation_id) AS first_tier,
        first_value(level) OVER (PARTITION BY entry_id ORDER BY tier_rank, level DESC, is_assigned DESC, expectation_id) AS first_level
    FROM levelled
) AS few
WHERE rank <= (SELECT max_candidates FROM rules)
