-- One row per pair of a line and a request in a group of equal payments: as many lines as requests of one
-- amount, and every line fits every request equally. `is_assigned`: the request is assigned to the line by date,
-- the first request to the first line. `group_id`: the group's first line by id. `size`: the number of its
-- requests, at most `max_same_code`.
--
-- Lines that a person decided, returned lines and paid requests are excluded. If only one of several requests
-- with the same code is still unpaid, it forms a group of one.
WITH best AS (
    SELECT entry_id, expectation_id, FALSE AS is_named,
        (SELECT name FROM tiers WHERE given_by = 'unnamed_candidates') AS tier
    FROM (
        SELECT unnamed.entry_id, unnamed.expectation_id, unnamed.undated,
            max(unnamed.undated) OVER (PARTITION BY unnamed.entry_id) AS most
        FROM unnamed_candidates AS unnamed
        JOIN unplaced_payments AS payment ON payment.entry_id = unnamed.entry_id
        JOIN open_expectations AS still_open
            ON still_open.expectation_id = unnamed.expectation_id AND still_open.remaining = payment.amount
        LEFT JOIN rejected_pairs AS rejected
            ON rejected.entry_id = unnamed.entry_id AND rejected.expectation_id = unnamed.expectation_id
        WHERE rejected.entry_id IS NULL
    ) AS of_amount
    WHERE undated = most
    UNION ALL
    SELECT p.entry_id, p.expectation_id, TRUE AS is_named, p.tier
    FROM reference_pairs AS p
    JOIN several_reference_lines AS c ON c.entry_id = p.entry_id
    JOIN open_expectations AS o ON o.expectation_id = p.expectation_id AND o.remaining = p.amount
    WHERE p.is_whole AND p.contradiction IS NULL AND p.expected = p.amount AND c.code = c.other_code AND c.viable > 1
        AND p.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'file', 'ignore'))
        AND p.entry_id NOT IN (SELECT entry_id FROM returned_lines)
),
request_sets AS (
    SELECT entry_id, tier, count(*) AS size, array_to_string(list_sort(array_agg(expectation_id)), ' ') AS requests
    FROM best
    GROUP BY entry_id, tier, is_named
    HAVING (count(*) > 1 OR is_named) AND count(*) <= (SELECT max_same_code FROM rules)
),
lines_in_turn AS (
    SELECT s.entry_id, s.tier, s.size, s.requests,
        row_number() OVER (PARTITION BY s.tier, s.requests ORDER BY l.booking_date, s.entry_id) AS turn,
        count(*) OVER (PARTITION BY s.tier, s.requests) AS payments,
        min(s.entry_id) OVER (PARTITION BY s.tier, s.requests) AS group_id
    FROM request_sets AS s
    JOIN lines AS l ON l.entry_id = s.entry_id
),
requests_in_turn AS (
    SELECT m.tier, m.requests, m.expectation_id,
        row_number() OVER (
            PARTITION BY m.tier, m.requests ORDER BY CAST(e.opened_at AS DATE) NULLS FIRST, m.expectation_id
        ) AS turn
    FROM (
        SELECT DISTINCT s.tier, s.requests, b.expectation_id
        FROM lines_in_turn AS s
        JOIN best AS b ON b.entry_id = s.entry_id AND b.tier = s.tier
        WHERE s.payments = s.size AND s.turn = 1
    ) AS m
    JOIN expectations AS e ON e.expectation_id = m.expectation_id
)
SELECT l.entry_id, r.expectation_id, l.tier, l.group_id, l.size, r.turn = l.turn AS is_assigned
FROM lines_in_turn AS l
JOIN requests_in_turn AS r ON r.tier = l.tier AND r.requests = l.requests
