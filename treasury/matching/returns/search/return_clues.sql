-- One row per combination of a return, a group of earlier lines that it may bring back, and the `strength` of
-- the key that links them: 1 for the original's reference and the code, 2 for the reference alone, 3 for the
-- code alone. The group has one of these amounts:
-- - the return's amount
-- - with strength 1 or 2, the return's amount plus the charges that the return states or, for a debit, less
--   these charges
-- - a larger amount of which the return is a part, if the payer is the same (see `return_parts`)
--
-- Return and group may not state different accounts of the counterparty, except for our own accounts. If more
-- than `max_same_code` groups fit, only the first are included, and one more that is marked `is_crowded`.
-- `is_several`: the return may be a part of several groups.
WITH sought AS (
    SELECT s.*, p.payer
    FROM (
        SELECT * FROM return_search
        UNION ALL
        SELECT s.return_id, s.strength, s.account, s.currency, s.direction, s.reference, s.expectation_id,
            CAST(s.amount + m.charges AS DECIMAL(38, 18)) AS amount, s.booking_date
        FROM return_search AS s
        JOIN marked_returns AS m ON m.entry_id = s.return_id
        WHERE m.charges > 0 AND s.strength < 3
        UNION ALL
        SELECT s.return_id, s.strength, s.account, s.currency, s.direction, s.reference, s.expectation_id,
            CAST(s.amount - m.charges AS DECIMAL(38, 18)) AS amount, s.booking_date
        FROM return_search AS s
        JOIN marked_returns AS m ON m.entry_id = s.return_id
        WHERE m.charges > 0 AND m.charges < s.amount AND m.direction = 'DBIT' AND s.strength < 3
    ) AS s
    JOIN (
        SELECT m.entry_id,
            CASE WHEN coalesce(m.counterparty_account, '') = '' OR o.account IS NOT NULL THEN 'any'
                WHEN k.is_named THEN 'A:' || m.counterparty_account ELSE 'none' END AS payer
        FROM marked_returns AS m
        LEFT JOIN own_accounts AS o ON o.account = m.counterparty_account
        CROSS JOIN (SELECT TRUE AS is_named UNION ALL SELECT FALSE AS is_named) AS k
        WHERE k.is_named OR (m.counterparty_account <> '' AND o.account IS NULL)
    ) AS p ON p.entry_id = s.return_id
),
found AS (
    SELECT w.*, row_number() OVER (
        PARTITION BY w.strength, w.account, w.currency, w.direction, w.reference, w.expectation_id, w.amount, w.payer
        ORDER BY w.first_on, w.group_id
    ) AS place
    FROM (
        SELECT w.*, p.payer
        FROM origin_places AS w
        JOIN (
            SELECT group_id, 'any' AS payer FROM origin_groups
            UNION ALL
            SELECT g.group_id,
                CASE WHEN g.payer_account = '' OR o.account IS NOT NULL THEN 'none' ELSE 'A:' || g.payer_account END AS payer
            FROM origin_groups AS g
            LEFT JOIN own_accounts AS o ON o.account = g.payer_account
        ) AS p ON p.group_id = w.group_id
    ) AS w
    JOIN (
        SELECT DISTINCT strength, account, currency, direction, reference, expectation_id, amount, payer FROM sought
    ) AS s
        ON s.strength = w.strength AND s.account = w.account AND s.currency = w.currency AND s.direction = w.direction
        AND s.reference = w.reference AND s.expectation_id = w.expectation_id AND s.amount = w.amount
        AND s.payer = w.payer
)
SELECT return_id, group_id, strength, bool_or(is_several) AS is_several, bool_or(is_crowded) AS is_crowded
FROM (
    SELECT s.return_id, w.group_id, s.strength, FALSE AS is_several, w.is_crowded
    FROM sought AS s
    JOIN (
        SELECT f.*, f.place > u.max_same_code AS is_crowded
        FROM found AS f
        CROSS JOIN rules AS u
        WHERE f.place <= u.max_same_code + 1
    ) AS w
        ON w.strength = s.strength AND w.account = s.account AND w.currency = s.currency AND w.direction = s.direction
        AND w.reference = s.reference AND w.expectation_id = s.expectation_id AND w.amount = s.amount AND w.payer = s.payer
    WHERE w.first_on <= s.booking_date
    UNION ALL
    SELECT return_id, group_id, strength, is_several, FALSE AS is_crowded
    FROM return_parts
) AS clues
GROUP BY return_id, group_id, strength
