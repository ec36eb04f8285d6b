-- A line that a person accepted for several expectations: each takes what the person divided off for it, else, in
-- turn, what it still expects, and one without an amount the rest. What came back of one of them is none of its own.
SELECT
    entry_id, expectation_id, booking_date, expected, reason AS accepted_reason,
    CAST(CASE
        WHEN expected IS NULL THEN share
        ELSE greatest(
            least(share, still_expected - coalesce(sum(share) OVER (
                PARTITION BY expectation_id ORDER BY booking_date, entry_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), CAST(0 AS DECIMAL(38, 18)))),
            CAST(0 AS DECIMAL(38, 18))
        )
    END AS DECIMAL(38, 18)) AS amount
FROM (
    SELECT
        *,
        CAST(greatest(
            least(room, amount - coalesce(sum(room) OVER (
                PARTITION BY entry_id
                ORDER BY CASE WHEN expected IS NULL THEN 1 ELSE 0 END, expectation_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), CAST(0 AS DECIMAL(38, 18)))),
            CAST(0 AS DECIMAL(38, 18))
        ) AS DECIMAL(38, 18)) AS share
    FROM (
        SELECT
            a.entry_id, a.expectation_id, a.booking_date, a.expected, a.reason,
            CAST(a.amount - coalesce(b.amount, 0) AS DECIMAL(38, 18)) AS amount,
            greatest(a.expected - coalesce(t.received, 0), CAST(0 AS DECIMAL(38, 18))) AS still_expected,
            greatest(
                CASE
                    WHEN a.share IS NOT NULL THEN a.share
                    WHEN a.expected IS NULL THEN a.amount
                    ELSE greatest(a.expected - coalesce(t.received, 0), CAST(0 AS DECIMAL(38, 18)))
                END - coalesce(r.amount, 0), CAST(0 AS DECIMAL(38, 18))
            ) AS room
        FROM accepted_pairs AS a
        LEFT JOIN returned_amounts AS b ON b.entry_id = a.entry_id
        LEFT JOIN (
            SELECT original_id, expectation_id, CAST(sum(amount) AS DECIMAL(38, 18)) AS amount
            FROM linked_returns
            GROUP BY original_id, expectation_id
        ) AS r ON r.original_id = a.entry_id AND r.expectation_id = a.expectation_id
        LEFT JOIN received_totals AS t ON t.expectation_id = a.expectation_id
        WHERE a.several > 1 AND a.counts AND a.entry_id NOT IN (SELECT return_id FROM linked_returns)
    ) AS rooms
) AS shares
