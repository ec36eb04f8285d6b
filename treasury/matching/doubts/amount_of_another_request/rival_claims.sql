-- One row per line that misses the amount of the request which it names and other request that takes exactly this amount,
-- with a tie to it: owner, payer or near code; at most the first opened ones. A near code counts only if few requests take
-- the amount; question 1 covers longer ones that begin or end with it. `rival_requests` considers the payments of the
-- other request.
WITH ties AS (
    SELECT m.entry_id, m.expectation_id, m.amount, m.currency, m.direction, m.booking_date, 'owner' AS tie, e.owner AS tied_to
    FROM missed_amounts AS m
    JOIN expectations AS e ON e.expectation_id = m.expectation_id
    WHERE e.owner IS NOT NULL
    UNION
    SELECT m.entry_id, m.expectation_id, m.amount, m.currency, m.direction, m.booking_date, 'owner' AS tie, s.owner AS tied_to
    FROM missed_amounts AS m
    JOIN sole_owners AS s ON s.entry_id = m.entry_id
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, 'account' AS tie, counterparty_account AS tied_to
    FROM missed_amounts
    WHERE counterparty_account IS NOT NULL
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, 'name' AS tie,
        nullif(regexp_replace(upper(counterparty_name), '[^\p{L}\p{N}]+', '', 'g'), '') AS tied_to
    FROM missed_amounts
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, 'payer' AS tie, party AS tied_to
    FROM missed_amounts
    WHERE party IS NOT NULL
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, 'code' AS tie, '' AS tied_to
    FROM missed_amounts
),
tied_takers AS (
    SELECT *, row_number() OVER (
        PARTITION BY tie, tied_to, amount, currency, direction, closed_on ORDER BY opened_on NULLS FIRST, code, expectation_id
    ) AS place
    FROM (
        SELECT expectation_id, code, amount, currency, direction, opened_on, closed_on, 'owner' AS tie, owner AS tied_to,
            CAST(NULL AS DATE) AS since
        FROM open_takers
        WHERE NOT are_alike
        UNION ALL
        SELECT expectation_id, code, amount, currency, direction, opened_on, closed_on, 'account' AS tie,
            counterparty_account AS tied_to, CAST(NULL AS DATE) AS since
        FROM open_takers
        UNION ALL
        SELECT expectation_id, code, amount, currency, direction, opened_on, closed_on, 'name' AS tie, payer_name AS tied_to,
            CAST(NULL AS DATE) AS since
        FROM open_takers
        UNION ALL
        SELECT o.expectation_id, o.code, o.amount, o.currency, o.direction, o.opened_on, o.closed_on, 'payer' AS tie,
            k.party AS tied_to, min(k.since) AS since
        FROM open_takers AS o
        JOIN known_payers AS k ON k.expectation_id = o.expectation_id
        WHERE NOT o.are_alike
        GROUP BY o.expectation_id, o.code, o.amount, o.currency, o.direction, o.opened_on, o.closed_on, k.party
        UNION ALL
        SELECT expectation_id, code, amount, currency, direction, opened_on, closed_on, 'code' AS tie, '' AS tied_to,
            CAST(NULL AS DATE) AS since
        FROM open_takers
        WHERE rivals <= (SELECT max_candidates FROM rules)
    ) AS every_tie
)
SELECT known_tie.entry_id, taker.expectation_id, known_tie.amount, min(CASE known_tie.tie WHEN 'owner' THEN
    'of the same owner'
    WHEN 'code' THEN 'with a near code' ELSE 'of the same payer' END) AS tie
FROM ties AS known_tie
JOIN tied_takers AS taker
    ON taker.tie = known_tie.tie AND taker.tied_to = known_tie.tied_to AND taker.amount = known_tie.amount
        AND taker.currency = known_tie.currency AND taker.direction = known_tie.direction
JOIN missed_amounts AS missed ON missed.entry_id = known_tie.entry_id AND missed.amount = known_tie.amount
CROSS JOIN rules AS rule
WHERE taker.place <= rule.max_same_code AND taker.expectation_id <> known_tie.expectation_id
    AND coalesce(taker.opened_on <= known_tie.booking_date, TRUE)
        AND coalesce(taker.closed_on >= known_tie.booking_date, TRUE)
    AND coalesce(taker.since < known_tie.booking_date, TRUE)
    AND (known_tie.tie <> 'code' OR (length(missed.code) >= rule.min_segment
        AND levenshtein(translate(taker.code, 'OIL', '011'), translate(missed.code, 'OIL', '011')) <= 2
        AND NOT (length(taker.code) > length(missed.code)
            AND (substr(taker.code, 1, length(missed.code)) = missed.code
                OR substr(taker.code, length(taker.code) - length(missed.code) + 1) = missed.code))))
GROUP BY known_tie.entry_id, taker.expectation_id, known_tie.amount
