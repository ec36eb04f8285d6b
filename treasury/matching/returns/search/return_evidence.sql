-- One row per pair of a return and a group of earlier lines that it may bring back (see `return_clues`). Of the
-- keys that find groups for a return, only the strongest one counts. These conditions hold:
-- - The counterparties are not different, compared by account or else by name.
-- - With a key of strength 1 or 2, the counterparties are the same; or the stated reference has a digit and at
--   least `min_code` characters, and only one payer used it. Our own accounts and missing counterparties are no
--   evidence.
-- - The amounts are equal, or the stated charges explain the difference, or the return is a part of the group's
--   amount and the counterparties are the same. A group with a smaller amount than the return is excluded if
--   another one has the same amount.
-- - The return is not on a statement with a failed proof, unless a person accepted the return.
--
-- `is_doubtful`: more than `max_same_code` groups fit, or only the code links the return to a line that may mean
-- another code. A group with `is_crowded` in `return_clues` is included even if the first three conditions do
-- not hold. `amount` is the returned amount, without charges that a debit adds to it.
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
        clue.return_id, clue.group_id, clue.strength, clue.is_several, clue.is_crowded,
        clue.is_crowded OR (clue.strength = 3 AND origin.is_ambiguous) AS is_doubtful, origin.expectation_id,
        marked.account, marked.currency, marked.direction, marked.booking_date,
        CASE WHEN marked.direction = 'DBIT' AND marked.amount - origin.amount = marked.charges THEN
            origin.amount ELSE marked.amount END AS amount,
        marked.amount > origin.amount AS is_on_top,
        bool_or(marked.amount = origin.amount) OVER (PARTITION BY clue.return_id, clue.strength) AS has_equal,
            marked.return_reason, marked.charges,
        coalesce(marked.reference, '') AS reference,
        origin.amount AS original_amount, origin.first_id,
        origin.second_on IS NULL OR origin.second_on > marked.booking_date AS is_only,
        CASE WHEN origin.payer_account <> '' THEN origin.payer_account ELSE origin.payer_name END AS party,
        CASE
            WHEN own.account IS NOT NULL OR other_own.account IS NOT NULL THEN 'unknown'
            WHEN marked.counterparty_account <> origin.payer_account AND origin.payer_account <> '' THEN 'other'
            WHEN marked.counterparty_account = origin.payer_account THEN 'same'
            WHEN origin.payer_name = '' OR coalesce(marked.counterparty_name, '') = '' THEN 'unknown'
            WHEN marked.name_letters = nullif(origin.payer_letters, '') THEN 'same'
            WHEN same_name.return_name IS NULL THEN 'other'
            ELSE 'unknown'
        END AS payer,
        regexp_matches(coalesce(marked.reference, ''), '[0-9]') AND payers.reference IS NULL
            AND length(marked.reference_letters) >= (SELECT min_code FROM rules) AS is_telling
    FROM return_clues AS clue
    JOIN marked_returns AS marked ON marked.entry_id = clue.return_id
    JOIN origin_groups AS origin ON origin.group_id = clue.group_id
    LEFT JOIN own_accounts AS own ON own.account = marked.counterparty_account
    LEFT JOIN own_accounts AS other_own ON other_own.account = origin.payer_account
    LEFT JOIN payers_of_reference AS payers
        ON payers.reference = marked.reference AND payers.account = origin.account AND payers.direction = origin.direction
    LEFT JOIN return_names AS same_name
        ON same_name.return_name = marked.counterparty_name AND same_name.payer_name = origin.counterparty_name
    WHERE marked.entry_id NOT IN (
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
