-- read through
-- One row a line: the first outcome that holds, in the order of the contract.
SELECT
    l.entry_id,
    CASE
        WHEN l.line_class IS NOT NULL OR i.entry_id IS NOT NULL THEN 'ignored'
        WHEN b.entry_id IS NOT NULL THEN 'returned'
        WHEN r.is_duplicate THEN 'duplicate'
        WHEN a.entry_id IS NOT NULL THEN 'matched'
        WHEN n.entry_id IS NOT NULL THEN 'conflict'
        WHEN r.entry_id IS NOT NULL OR f.entry_id IS NOT NULL THEN 'matched'
        WHEN c.entry_id IS NOT NULL THEN 'suggested'
        ELSE 'unreferenced'
    END AS outcome,
    CASE
        WHEN l.line_class IS NOT NULL OR i.entry_id IS NOT NULL THEN NULL
        WHEN b.entry_id IS NOT NULL THEN b.expectation_id
        WHEN r.entry_id IS NOT NULL THEN r.expectation_id
        WHEN a.entry_id IS NOT NULL THEN a.expectation_id
        WHEN n.entry_id IS NOT NULL THEN n.expectation_id
        WHEN f.entry_id IS NOT NULL THEN f.expectation_id
        ELSE c.expectation_id
    END AS expectation_id,
    CASE
        WHEN l.line_class IS NOT NULL OR i.entry_id IS NOT NULL OR b.entry_id IS NOT NULL OR a.entry_id IS NOT NULL THEN NULL
        ELSE t.rank
    END AS tier,
    CASE
        WHEN l.line_class IS NOT NULL THEN 'left out: ' || l.line_class
        WHEN i.entry_id IS NOT NULL THEN coalesce(i.reason, '')
        WHEN b.entry_id IS NOT NULL THEN b.reason
        WHEN r.is_duplicate THEN 'paid twice: the whole amount was received before'
        WHEN a.entry_id IS NOT NULL THEN a.reason || CASE WHEN a.counts THEN '' ELSE '; nothing of it counts' END
        WHEN n.entry_id IS NOT NULL THEN n.reason
            || CASE WHEN l.is_reversal OR l.return_reason IS NOT NULL THEN '; marked as a return' ELSE '' END
        WHEN r.entry_id IS NOT NULL THEN
            t.words
            || CASE
                WHEN r.amount > r.matched_amount THEN '; more than what remained'
                WHEN r.before + r.amount < r.expected THEN '; less than what remained'
                ELSE ''
            END
            || CASE WHEN v.entry_id IS NULL THEN '' ELSE '; a part of it came back on ' || CAST(v.booking_date AS VARCHAR) END
        WHEN f.tier = 'sum' THEN 'whole references, and exactly what all of them still expect'
        WHEN f.entry_id IS NOT NULL THEN c.reason
        WHEN c.entry_id IS NULL AND (l.is_reversal OR l.return_reason IS NOT NULL)
            THEN CASE
                WHEN l.proof = 'fails' THEN 'a return on a statement that is not proved'
                WHEN x.entry_id IS NOT NULL THEN 'a return of more than the payment of its reference, without charges that explain it'
                ELSE 'a return of no line that is known'
            END
        WHEN c.entry_id IS NULL AND g.entry_id IS NOT NULL
            THEN 'accepted for ' || g.expectation_id || ', which is not expected any more'
        WHEN c.entry_id IS NULL THEN 'no reference'
        ELSE c.reason
            || CASE WHEN coalesce(l.entry_status, 'BOOK') <> 'BOOK' THEN '; pending at bank' ELSE '' END
            || CASE WHEN l.proof = 'fails' THEN '; its statement is not proved' ELSE '' END
            || CASE WHEN l.is_twin THEN '; another line is alike in everything' ELSE '' END
            || CASE WHEN l.is_reversal OR l.return_reason IS NOT NULL THEN '; marked as a return' ELSE '' END
            || CASE WHEN c.equals > 1 THEN ', as of ' || CAST(c.equals AS VARCHAR) || ' expectations' ELSE '' END
    END AS reason,
    CASE WHEN i.entry_id IS NULL AND b.entry_id IS NULL AND NOT coalesce(r.is_duplicate, FALSE)
        THEN coalesce(r.matched_amount, f.amount) END AS matched_amount,
    CASE WHEN coalesce(r.rivals, 1) > 0 AND a.entry_id IS NULL AND b.entry_id IS NULL AND n.entry_id IS NULL
        AND coalesce(f.tier, 'rejoined') IN ('rejoined', 'respelled') THEN u.expectation_id END AS runner_up_id,
    CASE WHEN coalesce(r.rivals, 1) > 0 AND a.entry_id IS NULL AND b.entry_id IS NULL AND n.entry_id IS NULL
        AND coalesce(f.tier, 'rejoined') IN ('rejoined', 'respelled') THEN CAST(c.score - u.score AS DECIMAL(7, 4)) END AS margin,
    l.line_class
FROM lines AS l
LEFT JOIN ignored_lines AS i ON i.entry_id = l.entry_id
LEFT JOIN returned_lines AS b ON b.entry_id = l.entry_id
LEFT JOIN returned_amounts AS v ON v.entry_id = l.entry_id
LEFT JOIN received_shares AS r ON r.entry_id = l.entry_id
LEFT JOIN (
    SELECT
        entry_id,
        CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
        min(reason) AS reason,
        bool_and(counts) AS counts
    FROM accepted_pairs
    GROUP BY entry_id
) AS a ON a.entry_id = l.entry_id
LEFT JOIN (
    SELECT d.entry_id, min(d.expectation_id) AS expectation_id
    FROM decisions AS d
    LEFT JOIN expectations AS e ON e.expectation_id = d.expectation_id
    WHERE d.verdict = 'accept' AND e.expectation_id IS NULL
    GROUP BY d.entry_id
) AS g ON g.entry_id = l.entry_id
LEFT JOIN conflicting_lines AS n ON n.entry_id = l.entry_id
LEFT JOIN (
    SELECT
        entry_id,
        CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
        max(tier) AS tier,
        CAST(sum(amount) AS DECIMAL(38, 18)) AS amount
    FROM further_shares
    GROUP BY entry_id
) AS f ON f.entry_id = l.entry_id
LEFT JOIN (
    SELECT *, sum(CASE WHEN tier = 'whole' AND score > 0 THEN 1 ELSE 0 END) OVER (PARTITION BY entry_id) AS equals
    FROM ranked_candidates
    QUALIFY rank = 1
) AS c ON c.entry_id = l.entry_id
LEFT JOIN tiers AS t ON t.name = coalesce(r.tier, n.tier, f.tier, c.tier)
LEFT JOIN ranked_candidates AS u ON u.entry_id = l.entry_id AND u.rank = 2 AND u.tier = c.tier
LEFT JOIN excess_returns AS x ON x.entry_id = l.entry_id
