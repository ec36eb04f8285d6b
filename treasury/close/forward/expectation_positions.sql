-- One row per expectation with an amount, with its open amount and its returned amount (`back`) at a month's
-- end. A cancelled or blocked expectation has an open amount of 0. Cancelled means a status in which an
-- expectation receives no more money. A blocked expectation is not counted as cancelled.
SELECT
    p.expectation_id, p.code, p.kind, p.currency, p.direction, p.status, p.amount, p.back,
    p.contradicts AND NOT p.blocked AS cancelled,
    p.blocked,
    CASE WHEN p.contradicts OR p.blocked THEN CAST(0 AS DECIMAL(38, 18)) ELSE p.remaining END AS open
FROM (
    SELECT
        m.expectation_id, m.code, m.kind, m.currency, m.direction, m.status, m.amount,
        s.remaining,
        coalesce(b.amount, CAST(0 AS DECIMAL(38, 18))) AS back,
        x.status IS NOT NULL AS contradicts,
        coalesce(m.status = 'BLOCKED', FALSE) AS blocked
    FROM month_end_expectations AS m
    JOIN expectation_states AS s ON s.expectation_id = m.expectation_id
    LEFT JOIN contradicting_statuses AS x ON x.status = replace(upper(trim(m.status)), '-', '_')
    LEFT JOIN expectation_returns AS b ON b.expectation_id = m.expectation_id AND b.direction <> m.direction
    WHERE m.amount IS NOT NULL
) AS p
