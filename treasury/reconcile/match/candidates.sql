-- Every candidate of every line that is not settled, best first: tier, score within the tier, reason.
-- Nothing that a fact contradicts or a person rejected is a candidate.
SELECT
    entry_id, expectation_id, tier, score, reason,
    row_number() OVER (PARTITION BY entry_id ORDER BY tier, score DESC, expectation_id) AS rank
FROM (
    SELECT
        c.entry_id,
        c.expectation_id,
        c.tier,
        CAST(c.score
            + CASE WHEN e.amount = l.amount THEN 0.2 ELSE 0 END
            + CASE WHEN k.since <= l.booking_date THEN 0.1 ELSE 0 END AS DECIMAL(6, 4)) AS score,
        c.reason
            || CASE WHEN e.amount = l.amount THEN '; amount agrees' WHEN e.amount IS NOT NULL THEN '; amount differs' ELSE '' END
            || CASE WHEN k.since <= l.booking_date THEN '; known counterparty' ELSE '' END AS reason
    FROM (
        SELECT entry_id, expectation_id, 1 AS tier, CAST(0.7 AS DECIMAL(6, 4)) AS score, 'whole reference' AS reason
        FROM pairs
        WHERE contradiction IS NULL
        UNION ALL
        SELECT entry_id, expectation_id, 2 AS tier, CAST(0.7 AS DECIMAL(6, 4)) AS score,
            'reference split by a space or line break' AS reason
        FROM rejoined
        UNION ALL
        SELECT entry_id, expectation_id, 4 AS tier,
            CAST(CASE substr(damage, 1, 1) WHEN '1' THEN 0.6 WHEN '2' THEN 0.5 WHEN '3' THEN 0.4 ELSE 0.3 END AS DECIMAL(6, 4)) AS score,
            'damaged reference: ' || substr(damage, 3) AS reason
        FROM damaged
        UNION ALL
        SELECT entry_id, expectation_id, 5 AS tier,
            CAST(0.5 - CAST(least(days, 40) AS DECIMAL(6, 4)) / 100 AS DECIMAL(6, 4)) AS score,
            'no reference; requested ' || CASE days WHEN 0 THEN 'the same day' WHEN 1 THEN 'the day before'
                ELSE CAST(days AS VARCHAR) || ' days before' END AS reason
        FROM unreferenced_amounts
    ) AS c
    JOIN lines AS l ON l.entry_id = c.entry_id
    JOIN expectations AS e ON e.expectation_id = c.expectation_id
    LEFT JOIN known_counterparties AS k
        ON k.kind = e.kind AND k.account = coalesce(e.account, '')
        AND k.counterparty = upper(replace(coalesce(l.counterparty_account, l.counterparty_name), ' ', ''))
    LEFT JOIN contradicting_statuses AS x ON x.status = replace(upper(e.status), '-', '_')
    LEFT JOIN decisions AS d
        ON d.entry_id = c.entry_id AND d.expectation_id = c.expectation_id AND d.verdict = 'reject'
    WHERE x.status IS NULL AND d.entry_id IS NULL
        AND e.currency = l.currency AND e.direction = l.direction
        AND coalesce(upper(replace(e.account, ' ', '')) = upper(replace(l.account, ' ', '')), TRUE)
        AND coalesce(CAST(e.closed_at AS DATE) >= l.booking_date, TRUE)
) AS scored
QUALIFY row_number() OVER (PARTITION BY entry_id ORDER BY tier, score DESC, expectation_id)
    <= (SELECT max_candidates FROM rules)
