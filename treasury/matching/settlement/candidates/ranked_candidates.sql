-- One row per pair of a line and a candidate from `candidate_clues`, best first, with the tier, the score
-- within the tier and the reason. `lost` is the reason why a candidate ranks after the first one. A line has at
-- most `max_candidates`. Candidates that a person rejected are excluded.
--
-- In a group of payments and requests that fit each other equally (`equal_groups`), the first payment has the
-- first request as its best candidate, the second payment the second request, and so on. For speed, reasons are
-- composed only for the listed candidates.
WITH scored AS (
    SELECT c.entry_id, c.expectation_id, c.tier, c.tier_rank,
        e.amount IS NOT NULL AS has_amount, e.amount = l.amount AS is_amount, k.since < l.booking_date AS is_known,
        g.size AS group_size, coalesce(g.is_assigned, FALSE) AS is_assigned,
        CAST(CASE WHEN c.contradiction IS NOT NULL THEN 0 ELSE c.score
            + CASE WHEN e.amount = l.amount THEN 0.2 ELSE 0 END
            + CASE WHEN k.since < l.booking_date THEN 0.1 ELSE 0 END
        END AS DECIMAL(6, 4)) AS score
    FROM candidate_clues AS c
    JOIN line_parties AS l ON l.entry_id = c.entry_id
    JOIN expectations AS e ON e.expectation_id = c.expectation_id
    LEFT JOIN known_counterparties AS k
        ON k.kind = e.kind AND k.party = l.party
        AND k.tie = coalesce(e.account, CASE WHEN e.amount IS NULL THEN e.expectation_id END, '')
    LEFT JOIN (SELECT entry_id, expectation_id FROM decisions WHERE verdict = 'reject') AS d
        ON d.entry_id = c.entry_id AND d.expectation_id = c.expectation_id
    LEFT JOIN equal_groups AS g ON g.entry_id = c.entry_id AND g.expectation_id = c.expectation_id AND g.tier = c.tier
    WHERE d.entry_id IS NULL
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
),
placed AS (
    SELECT *
    FROM (
        SELECT *, row_number() OVER (PARTITION BY entry_id ORDER BY tier_rank, level DESC, is_assigned DESC, expectation_id) AS rank
        FROM levelled
    ) AS every_place
    WHERE rank <= (SELECT max_candidates FROM rules)
)
SELECT
    p.entry_id, p.expectation_id, p.tier, p.tier_rank, p.level AS score,
    c.reason
        || CASE WHEN p.is_amount THEN '; amount agrees' WHEN p.has_amount AND NOT contains(c.reason, 'what remains') THEN '; amount differs' ELSE '' END
        || CASE WHEN p.is_known THEN '; known counterparty' ELSE '' END
        || CASE WHEN p.is_assigned AND p.group_size > 1 THEN '; one of ' || CAST(p.group_size AS VARCHAR)
            || ' payments that fit as many requests equally: assigned by date, nothing tells them apart' ELSE '' END AS reason,
    p.rank,
    CASE
        WHEN p.rank = 1 THEN NULL
        WHEN c.contradiction IS NOT NULL THEN c.contradiction
        WHEN p.tier_rank > f.tier_rank THEN 'weaker evidence'
        WHEN p.level < f.level THEN 'less agrees'
        ELSE 'nothing tells them apart'
    END AS lost
FROM placed AS p
JOIN candidate_clues AS c ON c.entry_id = p.entry_id AND c.expectation_id = p.expectation_id
JOIN placed AS f ON f.entry_id = p.entry_id
WHERE f.rank = 1
