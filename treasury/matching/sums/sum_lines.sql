-- One row per pair of a line of a known payer and a group of requests (of the same kind and account) among which
-- sums are searched for this line. At most `max_pool` requests of the group are open in the line's currency and
-- direction. For speed, the lines together compare at most `max_sum_steps` pairs of requests. The earliest lines
-- come first.
SELECT entry_id, kind, tie
FROM (
    SELECT y.entry_id, y.kind, y.tie,
        sum(CAST(g.open AS BIGINT) * CAST(g.open AS BIGINT)) OVER (
            ORDER BY y.booking_date, y.entry_id, y.kind, y.tie ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS steps
    FROM known_payer_lines AS y
    JOIN (
        SELECT kind, tie, currency, direction, count(*) AS open
        FROM open_expectations
        WHERE remaining IS NOT NULL
        GROUP BY kind, tie, currency, direction
    ) AS g ON g.kind = y.kind AND g.tie = y.tie AND g.currency = y.currency AND g.direction = y.direction
    WHERE g.open BETWEEN 1 AND (SELECT max_pool FROM rules)
) AS counted
WHERE steps <= (SELECT max_sum_steps FROM rules)
