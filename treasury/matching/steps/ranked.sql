-- The candidates of every line with several clues, or without a settling one, best first: tier, score within the
-- tier, reason, and for all but the first why they lost. A contradicted candidate is listed only if another one is not
-- contradicted; a rejected one never. In a group of payments and requests that fit each other equally, each payment has
-- the request with its own position first.
SELECT
    entry_id, expectation_id, tier, tier_rank, score, reason, rank,
    CASE
        WHEN rank = 1 THEN NULL
        WHEN contradiction IS NOT NULL THEN contradiction
        WHEN tier_rank > first_tier THEN 'weaker evidence'
        WHEN score < first_score THEN 'less agrees'
        ELSE 'nothing tells them apart'
    END AS lost
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY entry_id ORDER BY tier_rank, score DESC, is_assigned DESC, expectation_id) AS rank,
        min(tier_rank) OVER (PARTITION BY entry_id) AS first_tier,
        first_value(score) OVER (PARTITION BY entry_id ORDER BY tier_rank, score DESC, expectation_id) AS first_score
    FROM (
        SELECT entry_id, expectation_id, tier, tier_rank, contradiction, is_assigned, reason,
            CASE WHEN is_of_group THEN max(score) OVER (PARTITION BY entry_id, tier, is_of_group) ELSE score END AS score
        FROM (
            SELECT
                c.entry_id,
                c.expectation_id,
                c.tier,
                c.tier_rank,
                c.contradiction,
                CAST(CASE WHEN c.contradiction IS NOT NULL THEN 0 ELSE c.score
                    + CASE WHEN e.amount = l.amount THEN 0.2 ELSE 0 END
                    + CASE WHEN k.since < l.booking_date THEN 0.1 ELSE 0 END
                END AS DECIMAL(6, 4)) AS score,
                c.reason
                    || CASE WHEN e.amount = l.amount THEN '; amount agrees' WHEN e.amount IS NOT NULL AND NOT contains(c.reason, 'what remains') THEN '; amount differs' ELSE '' END
                    || CASE WHEN k.since < l.booking_date THEN '; known counterparty' ELSE '' END
                    || CASE WHEN g.is_assigned AND g.size > 1 THEN '; one of ' || CAST(g.size AS VARCHAR)
                        || ' payments that fit as many requests equally: assigned by date, nothing tells them apart' ELSE '' END AS reason,
                g.entry_id IS NOT NULL AS is_of_group,
                coalesce(g.is_assigned, FALSE) AS is_assigned
            FROM clues AS c
            JOIN line_parties AS l ON l.entry_id = c.entry_id
            JOIN expectations AS e ON e.expectation_id = c.expectation_id
            LEFT JOIN known_counterparties AS k
                ON k.kind = e.kind AND k.party = l.party
                AND k.tie = coalesce(e.account, CASE WHEN e.amount IS NULL THEN e.expectation_id END, '')
            LEFT JOIN (SELECT entry_id, expectation_id FROM decisions WHERE verdict = 'reject') AS d
                ON d.entry_id = c.entry_id AND d.expectation_id = c.expectation_id
            LEFT JOIN equal_groups AS g ON g.entry_id = c.entry_id AND g.expectation_id = c.expectation_id AND g.tier = c.tier
            WHERE d.entry_id IS NULL
        ) AS scored
    ) AS levelled
) AS few
WHERE rank <= (SELECT max_candidates FROM rules)
