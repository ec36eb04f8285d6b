-- One row per combination of a line, an expectation with a code that the line's text may contain, and the way in
-- which the text may contain the code: the tier and, for a damaged code, the damage. Pairs that a person
-- rejected, and requests that closed months settled, are excluded.
--
-- `contradiction` is a reason against the pair in words, or null. `is_whole`: the code is a whole or structured
-- reference. `proves`: the line may be matched, because it is booked, has no class, is not a return, has no
-- identical line, and is not on a statement with a failed proof.
SELECT
    reading.entry_id,
    reading.expectation_id,
    reading.code,
    reading.given_by,
    tier.name AS tier,
    tier.rank AS tier_rank,
    tier.needs,
    tier.needs = 'nothing' AS is_whole,
    reading.score,
    reading.damage,
    line.amount,
    line.booking_date,
    expectation.amount AS expected,
    line.proves,
    CASE
        WHEN line.direction <> expectation.direction
            THEN 'direction: ' || line.direction || ', expected ' || expectation.direction
        WHEN line.currency <> expectation.currency
            THEN 'currency: ' || line.currency || ', expected ' || expectation.currency
        WHEN line.account <> expectation.account
            THEN 'account: reached ' || line.account || ', the code belongs to ' || expectation.account
        WHEN line.counterparty_account <> expectation.counterparty_account
            THEN 'account: paid to ' || line.counterparty_account || ', expected ' || expectation.counterparty_account
        WHEN expectation.closed_status IS NOT NULL
            THEN 'status: ' || expectation.closed_status
        WHEN expectation.closed_on < line.booking_date
            THEN 'closed on ' || CAST(expectation.closed_on AS VARCHAR) || ', before this line'
        WHEN expectation.opened_on > line.booking_date
            THEN 'opened on ' || CAST(expectation.opened_on AS VARCHAR) || ', after this line'
    END AS contradiction
FROM (
    SELECT p.entry_id, p.expectation_id, p.code, p.given_by, p.score, p.damage
    FROM (
        SELECT entry_id, expectation_id, code, given_by, CAST(0.7 AS DECIMAL(6, 4)) AS score,
            CAST(NULL AS VARCHAR) AS damage
        FROM code_readings
        UNION ALL
        SELECT o.entry_id, o.expectation_id, o.code,
            CASE WHEN o.is_damaged THEN 'damaged_codes' ELSE 'rejoined_codes' END AS given_by,
            CAST(0.4 AS DECIMAL(6, 4)) AS score, o.damage
        FROM other_readings AS o
        LEFT JOIN code_readings AS n ON n.entry_id = o.entry_id AND n.expectation_id = o.expectation_id
        WHERE n.entry_id IS NULL
        UNION ALL
        SELECT d.entry_id, d.expectation_id, d.code, 'damaged_codes' AS given_by, d.score, d.damage
        FROM damaged_codes AS d JOIN unplaced_lines AS u ON u.entry_id = d.entry_id
    ) AS p
    LEFT JOIN rejected_pairs AS d
        ON d.entry_id = p.entry_id AND d.expectation_id = p.expectation_id
    WHERE d.entry_id IS NULL
) AS reading
JOIN tiers AS tier ON tier.given_by = reading.given_by
JOIN (
    SELECT entry_id, amount, booking_date, direction, currency, account, counterparty_account,
        line_class IS NULL AND coalesce(entry_status, 'BOOK') = 'BOOK' AND NOT coalesce(is_twin, FALSE)
            AND NOT coalesce(is_reversal, FALSE) AND return_reason IS NULL
            AND coalesce(proof, 'none') <> 'fails' AS proves
    FROM lines
) AS line ON line.entry_id = reading.entry_id
JOIN (
    SELECT e.expectation_id, e.amount, e.direction, e.currency, e.account, e.counterparty_account,
        closed.status AS closed_status, CAST(e.closed_at AS DATE) AS closed_on, CAST(e.opened_at AS DATE) AS opened_on
    FROM expectations AS e
    LEFT JOIN closed_statuses AS closed ON closed.status = e.status
) AS expectation ON expectation.expectation_id = reading.expectation_id
