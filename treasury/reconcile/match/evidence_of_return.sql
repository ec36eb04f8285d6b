-- The strongest of those clues that the facts allow: the other direction on the same account (the mark of a
-- return never turns it around once more), not later, no less money, and no other counterparty. A counterparty that is
-- one of our own accounts, or missing, says nothing; then a reference without a digit, or one that several payers
-- gave, does not either. A line of a statement whose proof fails neither comes back nor brings anything back unless a
-- person says so.
WITH own_accounts AS (
    SELECT DISTINCT account FROM lines
),
payers_of_reference AS (
    SELECT upper(trim(l.end_to_end_id)) AS reference, l.account, l.direction
    FROM lines AS l
    JOIN (SELECT DISTINCT reference FROM marked) AS m ON m.reference = upper(trim(l.end_to_end_id))
    LEFT JOIN line_parties AS p ON p.entry_id = l.entry_id
    GROUP BY upper(trim(l.end_to_end_id)), l.account, l.direction
    HAVING count(DISTINCT coalesce(p.party, '')) > 1
),
facts AS (
    SELECT
        g.return_id, g.original_id, g.strength,
        r.account, r.currency, r.direction, r.amount, r.booking_date, r.return_reason,
        coalesce(r.reference, '') AS reference,
        o.amount AS original_amount, o.booking_date AS original_date,
        coalesce(o.counterparty_account, upper(replace(o.counterparty_name, ' ', '')), '') AS party,
        CASE
            WHEN a.account IS NOT NULL OR b.account IS NOT NULL THEN 'unknown'
            WHEN r.counterparty_account <> o.counterparty_account THEN 'other'
            WHEN r.counterparty_account = o.counterparty_account THEN 'same'
            WHEN upper(replace(r.counterparty_name, ' ', '')) = upper(replace(o.counterparty_name, ' ', '')) THEN 'same'
            ELSE 'unknown'
        END AS payer,
        regexp_matches(coalesce(r.reference, ''), '[0-9]') AND s.reference IS NULL AS is_telling
    FROM return_clues AS g
    JOIN marked AS r ON r.entry_id = g.return_id
    JOIN lines AS o ON o.entry_id = g.original_id
    LEFT JOIN own_accounts AS a ON a.account = r.counterparty_account
    LEFT JOIN own_accounts AS b ON b.account = o.counterparty_account
    LEFT JOIN payers_of_reference AS s
        ON s.reference = r.reference AND s.account = o.account AND s.direction = o.direction
    WHERE o.account = r.account AND o.currency = r.currency AND o.direction <> r.direction
        AND o.booking_date <= r.booking_date AND o.amount >= r.amount
        AND o.line_class IS NULL AND coalesce(o.entry_status, 'BOOK') = 'BOOK'
        AND NOT coalesce(o.is_reversal, FALSE) AND o.return_reason IS NULL
        AND o.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict = 'ignore')
        AND o.entry_id NOT IN (SELECT entry_id FROM marked)
        AND r.entry_id NOT IN (
            SELECT entry_id FROM lines WHERE proof = 'fails' AND entry_id NOT IN (SELECT entry_id FROM accepted)
        )
        AND (coalesce(o.proof, 'none') <> 'fails' OR o.entry_id IN (SELECT entry_id FROM accepted))
)
SELECT
    f.return_id, f.original_id,
    coalesce(w.expectation_id, '') AS expectation_id,
    f.account, f.currency, f.direction, f.amount, f.booking_date, f.return_reason,
    CASE WHEN f.strength < 3 THEN f.reference ELSE '' END AS reference,
    f.original_amount, f.original_date, f.strength, f.party, f.payer
FROM facts AS f
LEFT JOIN (
    SELECT entry_id, min(expectation_id) AS expectation_id
    FROM owners WHERE entry_id IN (SELECT original_id FROM return_clues) GROUP BY entry_id
) AS w ON w.entry_id = f.original_id
WHERE f.payer <> 'other'
    AND (f.payer = 'same' OR f.strength = 3 OR f.is_telling)
    AND (f.amount = f.original_amount OR f.is_telling OR f.payer = 'same')
QUALIFY f.strength = min(f.strength) OVER (PARTITION BY f.return_id)
