-- The strongest of those clues that the facts allow: the other direction on the same account (the mark of a
-- return never turns it around once more), not later, no less money, and no other counterparty, by account or else by
-- name. A counterparty that is one of our own accounts, or missing, says nothing; then a reference without a digit or of
-- a few characters, or one that several payers gave, does not either. A return on a statement whose proof fails brings
-- nothing back unless a person says so. `is_doubtful`: very many lines fit, or the code alone ties it to one that may
-- mean another.
WITH payers_of_reference AS (
    SELECT upper(trim(l.end_to_end_id)) AS reference, l.account, l.direction
    FROM lines AS l
    JOIN (SELECT DISTINCT reference FROM marked_returns) AS m ON m.reference = upper(trim(l.end_to_end_id))
    LEFT JOIN line_parties AS p ON p.entry_id = l.entry_id
    GROUP BY upper(trim(l.end_to_end_id)), l.account, l.direction
    HAVING count(DISTINCT coalesce(p.party, '')) > 1
),
facts AS (
    SELECT
        c.return_id, c.group_id, c.strength, c.is_several, c.is_crowded,
        c.is_crowded OR (c.strength = 3 AND g.is_ambiguous) AS is_doubtful, g.expectation_id,
        r.account, r.currency, r.direction, r.booking_date,
        CASE WHEN r.direction = 'DBIT' AND r.amount - g.amount = r.charges THEN g.amount ELSE r.amount END AS amount,
        r.amount > g.amount AS is_on_top,
        bool_or(r.amount = g.amount) OVER (PARTITION BY c.return_id, c.strength) AS has_equal, r.return_reason, r.charges,
        coalesce(r.reference, '') AS reference,
        g.amount AS original_amount, g.first_id,
        g.second_on IS NULL OR g.second_on > r.booking_date AS is_only,
        CASE WHEN g.payer_account <> '' THEN g.payer_account ELSE g.payer_name END AS party,
        CASE
            WHEN a.account IS NOT NULL OR b.account IS NOT NULL THEN 'unknown'
            WHEN r.counterparty_account <> g.payer_account AND g.payer_account <> '' THEN 'other'
            WHEN r.counterparty_account = g.payer_account THEN 'same'
            WHEN g.payer_name = '' OR coalesce(r.counterparty_name, '') = '' THEN 'unknown'
            WHEN r.name_letters = nullif(g.payer_letters, '') THEN 'same'
            WHEN n.return_name IS NULL THEN 'other'
            ELSE 'unknown'
        END AS payer,
        regexp_matches(coalesce(r.reference, ''), '[0-9]') AND s.reference IS NULL
            AND length(r.reference_letters) >= (SELECT min_code FROM rules) AS is_telling
    FROM return_clues AS c
    JOIN marked_returns AS r ON r.entry_id = c.return_id
    JOIN origin_groups AS g ON g.group_id = c.group_id
    LEFT JOIN own_accounts AS a ON a.account = r.counterparty_account
    LEFT JOIN own_accounts AS b ON b.account = g.payer_account
    LEFT JOIN payers_of_reference AS s
        ON s.reference = r.reference AND s.account = g.account AND s.direction = g.direction
    LEFT JOIN return_names AS n ON n.return_name = r.counterparty_name AND n.payer_name = g.counterparty_name
    WHERE r.entry_id NOT IN (
            SELECT entry_id FROM lines WHERE proof = 'fails' AND entry_id NOT IN (SELECT entry_id FROM accepted_pairs)
        )
)
SELECT
    return_id, group_id, first_id, is_only, is_several, is_doubtful, expectation_id, account, currency, direction, amount,
    booking_date, return_reason,
    CASE WHEN strength < 3 THEN reference ELSE '' END AS reference,
    original_amount, strength, party, payer
FROM facts
WHERE is_crowded OR (
    payer <> 'other'
    AND (payer = 'same' OR strength = 3 OR is_telling)
    AND NOT (is_on_top AND has_equal)
    AND (amount = original_amount OR (payer = 'same' AND NOT is_on_top)
        OR (is_telling AND original_amount - amount = charges))
)
QUALIFY strength = min(strength) OVER (PARTITION BY return_id)
