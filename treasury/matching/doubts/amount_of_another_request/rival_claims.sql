-- One row per combination of a line, one of its amounts in `missed_amounts`, and another request that this
-- amount pays exactly, if a fact links line and request (`tie`). The facts are:
-- - the same owner: the owner of the named request, or the only owner for whom the payer's account is known
--   (`sole_owners`)
-- - the same payer: the request states the account or name of the line's counterparty, or the line's payer was
--   known for the request before
-- - a near code: the request's code differs from the line's code in at most two characters
--
-- The request is open on the line's day. If `are_alike` (see `open_takers`), owners and known payers do not
-- link. If one fact links very many requests, only the requests opened first are included (`max_same_code`
-- for each `closed_on` day). `rival_requests` then subtracts what other lines pay of these requests.
--
-- A near code links only if the line's code has at least `min_segment` characters, and at most `max_candidates`
-- requests expect the amount. O, I and L count as equal to 0, 1 and 1. A longer code that begins or ends with
-- the line's code does not link, because question 1 covers this case.
WITH ties AS (
    SELECT m.entry_id, m.expectation_id, m.amount, m.currency, m.direction, m.booking_date, m.code, 'owner' AS tie, e.owner AS tied_to
    FROM missed_amounts AS m
    JOIN expectations AS e ON e.expectation_id = m.expectation_id
    WHERE e.owner IS NOT NULL
    UNION
    SELECT m.entry_id, m.expectation_id, m.amount, m.currency, m.direction, m.booking_date, m.code, 'owner' AS tie, s.owner AS tied_to
    FROM missed_amounts AS m
    JOIN sole_owners AS s ON s.entry_id = m.entry_id
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, code, 'account' AS tie, counterparty_account AS tied_to
    FROM missed_amounts
    WHERE counterparty_account IS NOT NULL
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, code, 'name' AS tie,
        nullif(regexp_replace(upper(counterparty_name), '[^\p{L}\p{N}]+', '', 'g'), '') AS tied_to
    FROM missed_amounts
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, code, 'payer' AS tie, party AS tied_to
    FROM missed_amounts
    WHERE party IS NOT NULL
    UNION
    SELECT entry_id, expectation_id, amount, currency, direction, booking_date, code, 'code' AS tie, '' AS tied_to
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
SELECT t.entry_id, o.expectation_id, t.amount, min(CASE t.tie WHEN 'owner' THEN 'of the same owner'
    WHEN 'code' THEN 'with a near code' ELSE 'of the same payer' END) AS tie
FROM ties AS t
JOIN tied_takers AS o
    ON o.tie = t.tie AND o.tied_to = t.tied_to AND o.amount = t.amount AND o.currency = t.currency AND o.direction = t.direction
CROSS JOIN rules AS u
WHERE o.place <= u.max_same_code AND o.expectation_id <> t.expectation_id
    AND coalesce(o.opened_on <= t.booking_date, TRUE) AND coalesce(o.closed_on >= t.booking_date, TRUE)
    AND coalesce(o.since < t.booking_date, TRUE)
    AND (t.tie <> 'code' OR (length(t.code) >= u.min_segment
        AND levenshtein(translate(o.code, 'OIL', '011'), translate(t.code, 'OIL', '011')) <= 2
        AND NOT (length(o.code) > length(t.code)
            AND (substr(o.code, 1, length(t.code)) = t.code
                OR substr(o.code, length(o.code) - length(t.code) + 1) = t.code))))
GROUP BY t.entry_id, o.expectation_id, t.amount
