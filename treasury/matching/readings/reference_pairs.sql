-- Every line beside every expectation that its text points to, by tier, and what contradicts them, in words;
-- null where nothing does. `is_whole`: the text names it in full, or by check digits that hold. `proves`: the
-- line is booked, no return, unlike every other and of no statement whose proof fails, so that its text may
-- settle it.
SELECT
    f.entry_id,
    f.expectation_id,
    f.code,
    f.tier,
    f.is_whole,
    f.score,
    f.damage,
    l.amount,
    l.booking_date,
    e.amount AS expected,
    l.line_class IS NULL AND coalesce(l.entry_status, 'BOOK') = 'BOOK' AND NOT coalesce(l.is_twin, FALSE)
        AND NOT coalesce(l.is_reversal, FALSE) AND l.return_reason IS NULL
        AND coalesce(l.proof, 'none') <> 'fails' AS proves,
    CASE
        WHEN l.direction <> e.direction
            THEN 'direction: ' || l.direction || ', expected ' || e.direction
        WHEN l.currency <> e.currency
            THEN 'currency: ' || l.currency || ', expected ' || e.currency
        WHEN l.account <> e.account
            THEN 'account: reached ' || l.account || ', the code belongs to ' || e.account
        WHEN l.counterparty_account <> e.counterparty_account
            THEN 'account: paid to ' || l.counterparty_account || ', expected ' || e.counterparty_account
        WHEN x.status IS NOT NULL
            THEN 'status: ' || e.status
        WHEN CAST(e.closed_at AS DATE) < l.booking_date
            THEN 'closed on ' || CAST(CAST(e.closed_at AS DATE) AS VARCHAR) || ', before this line'
        WHEN CAST(e.opened_at AS DATE) > l.booking_date
            THEN 'opened on ' || CAST(CAST(e.opened_at AS DATE) AS VARCHAR) || ', after this line'
    END AS contradiction
FROM (
    SELECT entry_id, expectation_id, code, tier, TRUE AS is_whole, CAST(0.7 AS DECIMAL(6, 4)) AS score,
        CAST(NULL AS VARCHAR) AS damage
    FROM whole_references
    UNION ALL
    SELECT p.entry_id, p.expectation_id, p.code, p.tier, FALSE AS is_whole, p.score, p.damage
    FROM (
        SELECT r.entry_id, r.expectation_id, r.code, 'rejoined' AS tier, CAST(0.7 AS DECIMAL(6, 4)) AS score,
            CAST(NULL AS VARCHAR) AS damage
        FROM rejoined_codes AS r JOIN unplaced_lines AS u ON u.entry_id = r.entry_id
        UNION ALL
        SELECT entry_id, expectation_id, code, 'respelled' AS tier, CAST(0.7 AS DECIMAL(6, 4)) AS score,
            CAST(NULL AS VARCHAR) AS damage
        FROM respelled_codes
        UNION ALL
        SELECT o.entry_id, o.expectation_id, o.code, o.tier, CAST(0.4 AS DECIMAL(6, 4)) AS score, o.damage
        FROM other_readings AS o
        LEFT JOIN code_readings AS n ON n.entry_id = o.entry_id AND n.expectation_id = o.expectation_id
        WHERE n.entry_id IS NULL
        UNION ALL
        SELECT d.entry_id, d.expectation_id, d.code, 'damaged' AS tier, d.score, d.damage
        FROM damaged_codes AS d JOIN unplaced_lines AS u ON u.entry_id = d.entry_id
    ) AS p
    LEFT JOIN rejected_pairs AS d
        ON d.entry_id = p.entry_id AND d.expectation_id = p.expectation_id
    WHERE d.entry_id IS NULL
) AS f
JOIN lines AS l ON l.entry_id = f.entry_id
JOIN expectations AS e ON e.expectation_id = f.expectation_id
LEFT JOIN closed_statuses AS x ON x.status = e.status
