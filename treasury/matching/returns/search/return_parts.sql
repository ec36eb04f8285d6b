-- One row per combination of a return, a key that links it to earlier lines, and a group of earlier lines of
-- the same payer that it may bring back in part. The group is the one with the largest amount among those not
-- later than the return. `is_several`: a second group has at least the returned amount, so that the return may
-- belong to either. For speed, groups and returns with the same key are sorted into one list by day, instead of
-- comparing every pair.
WITH return_payers AS (
    SELECT m.entry_id, 'A:' || m.counterparty_account AS payer
    FROM marked_returns AS m
    LEFT JOIN own_accounts AS o ON o.account = m.counterparty_account
    WHERE m.counterparty_account <> '' AND o.account IS NULL
    UNION ALL
    SELECT m.entry_id,
        CASE WHEN coalesce(m.counterparty_account, '') = '' THEN 'N:' ELSE 'L:' END
            || m.name_letters AS payer
    FROM marked_returns AS m
    LEFT JOIN own_accounts AS o ON o.account = m.counterparty_account
    WHERE m.counterparty_name <> '' AND o.account IS NULL
),
group_payers AS (
    SELECT g.group_id, 'A:' || g.payer_account AS payer
    FROM origin_groups AS g
    WHERE g.payer_account <> ''
    UNION ALL
    SELECT g.group_id, k.kind || g.payer_letters AS payer
    FROM origin_groups AS g
    LEFT JOIN own_accounts AS o ON o.account = g.payer_account
    CROSS JOIN (SELECT 'N:' AS kind UNION ALL SELECT 'L:' AS kind) AS k
    WHERE g.payer_name <> '' AND o.account IS NULL AND (k.kind = 'N:' OR g.payer_account = '')
),
parts AS (
    SELECT s.*, p.payer
    FROM return_search AS s
    JOIN return_payers AS p ON p.entry_id = s.return_id
),
wholes AS (
    SELECT w.*, p.payer
    FROM origin_places AS w
    JOIN group_payers AS p ON p.group_id = w.group_id
    JOIN (SELECT DISTINCT payer FROM return_payers) AS r ON r.payer = p.payer
),
listed AS (
    SELECT strength, account, currency, direction, reference, expectation_id, payer, amount, first_on AS day, group_id AS id,
        0 AS is_part
    FROM wholes
    UNION ALL
    SELECT strength, account, currency, direction, reference, expectation_id, payer, amount, booking_date AS day,
        return_id AS id, 1 AS is_part
    FROM parts
),
largest AS (
    SELECT *, max(CASE is_part WHEN 0 THEN amount END) OVER (
        PARTITION BY strength, account, currency, direction, reference, expectation_id, payer
        ORDER BY day, is_part, id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS most
    FROM listed
),
two_largest AS (
    SELECT *, max(CASE WHEN is_part = 0 AND most IS NOT NULL THEN least(amount, most) END) OVER (
        PARTITION BY strength, account, currency, direction, reference, expectation_id, payer
        ORDER BY day, is_part, id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS second_most
    FROM largest
)
SELECT DISTINCT p.id AS return_id, w.group_id, p.strength, coalesce(p.second_most >= p.amount, FALSE) AS is_several
FROM two_largest AS p
JOIN (
    SELECT *
    FROM wholes
    QUALIFY row_number() OVER (
        PARTITION BY strength, account, currency, direction, reference, expectation_id, payer, amount
        ORDER BY first_on, group_id
    ) = 1
) AS w
    ON w.strength = p.strength AND w.account = p.account AND w.currency = p.currency AND w.direction = p.direction
    AND w.reference = p.reference AND w.expectation_id = p.expectation_id AND w.payer = p.payer AND w.amount = p.most
WHERE p.is_part = 1 AND p.most > p.amount
