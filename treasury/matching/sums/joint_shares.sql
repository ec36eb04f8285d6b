-- One row per pair of a line and an expectation that receives money from it, with the amount, if the line names
-- several expectations by whole or structured references and these settle it. There are two cases:
-- - The line is exactly the sum of what all named expectations still expect. Expectations of the other direction
--   are subtracted, if all named expectations have the same owner or none has one.
-- - The line names two expectations. One is a request of which exactly the line's amount remains, the other
--   accepts any amount. Both have the same owner. If an owner is unknown, both have the same account, and no
--   other expectation on it accepts any amount. The request receives the money.
--
-- If several lines would pay an expectation in this way, only the first one counts. Lines with a doubt or a
-- decision, returns and returned lines are excluded, and so are lines that name an expectation in
-- `divided_shares`. `given_by`: the step that determines the tier.
WITH named_here AS (
    SELECT
        pair.entry_id, pair.expectation_id, pair.booking_date, pair.expected, pair.amount AS booked,
            expectation.account, expectation.owner, several.named, several.viable,
        CASE
            WHEN pair.contradiction IS NULL THEN still_open.remaining
            WHEN expectation.direction <> line.direction AND expectation.currency = line.currency
                AND coalesce(expectation.account = line.account, TRUE)
                AND coalesce(expectation.counterparty_account = line.counterparty_account, TRUE)
                AND coalesce(still_open.opened_on <= line.booking_date, TRUE)
                    AND coalesce(still_open.closed_on >= line.booking_date, TRUE)
                THEN CAST(-still_open.remaining AS DECIMAL(38, 18))
        END AS share
    FROM reference_pairs AS pair
    JOIN several_reference_lines AS several ON several.entry_id = pair.entry_id
    JOIN lines AS line ON line.entry_id = pair.entry_id
    JOIN expectations AS expectation ON expectation.expectation_id = pair.expectation_id
    LEFT JOIN open_expectations AS still_open ON still_open.expectation_id = pair.expectation_id
    WHERE pair.is_whole AND pair.proves AND NOT several.is_single
        AND pair.entry_id NOT IN (SELECT entry_id FROM line_doubts)
        AND pair.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'file', 'ignore'))
        AND pair.entry_id NOT IN (SELECT return_id FROM linked_returns)
        AND pair.entry_id NOT IN (SELECT entry_id FROM returned_amounts)
),
exact AS (
    SELECT
        h.entry_id, h.expectation_id, h.booking_date, h.expected, h.share AS amount, 'joint_shares' AS given_by,
        row_number() OVER (PARTITION BY h.expectation_id ORDER BY h.booking_date, h.entry_id) AS turn
    FROM named_here AS h
    JOIN (
        SELECT entry_id
        FROM named_here
        GROUP BY entry_id, booked
        HAVING count(*) > 1 AND count(*) = count(share) AND sum(share) = booked
            AND (min(share) > 0 OR count(DISTINCT coalesce(owner, '')) = 1)
    ) AS w ON w.entry_id = h.entry_id
    UNION ALL
    SELECT
        r.entry_id, r.expectation_id, r.booking_date, r.expected, r.share AS amount, 'named_expectations' AS given_by,
        row_number() OVER (PARTITION BY r.expectation_id ORDER BY r.booking_date, r.entry_id) AS turn
    FROM named_here AS r
    JOIN named_here AS v ON v.entry_id = r.entry_id
    LEFT JOIN (
        SELECT account FROM expectations WHERE amount IS NULL GROUP BY account HAVING count(*) = 1
    ) AS only_one ON only_one.account = r.account
    WHERE r.named = 2 AND r.viable = 2 AND v.expected IS NULL AND r.share = r.booked
        AND coalesce(v.owner = r.owner, only_one.account = v.account)
),
taken AS (
    SELECT entry_id, expectation_id, booking_date, expected, amount, given_by, max(turn) OVER (PARTITION BY entry_id) AS last_turn
    FROM exact
)
SELECT t.entry_id, t.expectation_id, t.booking_date, t.expected, t.amount, t.given_by
FROM taken AS t
WHERE t.last_turn = 1 AND t.expectation_id NOT IN (SELECT expectation_id FROM divided_shares)
    AND t.entry_id NOT IN (
        SELECT b.entry_id FROM taken AS b
        WHERE b.expectation_id IN (SELECT expectation_id FROM divided_shares)
    )
