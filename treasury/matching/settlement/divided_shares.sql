-- One row per pair of a line with several accepted expectations, because a person or a payment file divided it,
-- and one of these expectations, with the amount that the expectation receives. This is the amount that the
-- person stated. Without one, it is what the expectation still expects, or the rest of the line for an
-- expectation that accepts any amount.
--
-- The expectations receive in order of their ids, those for any amount last. Together they receive at most the
-- line's amount, and each at most what it still expects. Money that was returned reduces the amount of its
-- expectation. The amount may be 0.
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
            accepted.entry_id, accepted.expectation_id, accepted.booking_date, accepted.expected, accepted.reason,
            CAST(accepted.amount - coalesce(returned.amount, 0) AS DECIMAL(38, 18)) AS amount,
            greatest(accepted.expected - coalesce(total.received, 0), CAST(0 AS DECIMAL(38, 18))) AS still_expected,
            greatest(
                CASE
                    WHEN accepted.share IS NOT NULL THEN accepted.share
                    WHEN accepted.expected IS NULL THEN accepted.amount
                    ELSE greatest(accepted.expected - coalesce(total.received, 0), CAST(0 AS DECIMAL(38, 18)))
                END - coalesce(brought_back.amount, 0), CAST(0 AS DECIMAL(38, 18))
            ) AS room
        FROM accepted_pairs AS accepted
        LEFT JOIN returned_amounts AS returned ON returned.entry_id = accepted.entry_id
        LEFT JOIN (
            SELECT original_id, expectation_id, CAST(sum(amount) AS DECIMAL(38, 18)) AS amount
            FROM linked_returns
            GROUP BY original_id, expectation_id
        ) AS brought_back ON brought_back.original_id = accepted.entry_id
            AND brought_back.expectation_id = accepted.expectation_id
        LEFT JOIN received_totals AS total ON total.expectation_id = accepted.expectation_id
        WHERE accepted.several > 1 AND accepted.counts AND accepted.entry_id NOT IN (SELECT return_id FROM linked_returns)
    ) AS rooms
) AS shares
