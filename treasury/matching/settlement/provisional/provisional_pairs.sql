-- One row per line that, before questions 4 to 7, belongs to exactly one expectation; with that
-- expectation. There are two cases:
-- - The expectation is the line's only accepted one (`accepted_pairs`), and has the line's currency and
--   direction.
-- - The line has the expectation's whole or structured reference, and nothing contradicts it. The line may be
--   matched (`proves` in `reference_pairs`), no person decided about it, and it cannot be read in another way.
--
-- Returns, and lines that were returned in full, are excluded. `booked` is the line's whole amount, `amount` the
-- line's amount without money that was returned. `before` is the total that earlier such lines paid for the
-- expectation. `rivals` is the number of other expectations with the same code, if all are contradicted.
WITH standing AS (
    SELECT
        p.entry_id, p.expectation_id, p.code, p.tier, p.accepted_reason, p.booking_date, p.expected, p.rivals,
        p.amount AS booked,
        CAST(p.amount - coalesce(b.amount, 0) AS DECIMAL(38, 18)) AS amount
    FROM (
        SELECT entry_id, expectation_id, CAST(NULL AS VARCHAR) AS code, CAST(NULL AS VARCHAR) AS tier,
            reason AS accepted_reason, booking_date, expected, amount, 0 AS rivals
        FROM accepted_pairs
        WHERE several = 1 AND counts
        UNION ALL
        SELECT p.entry_id, p.expectation_id, p.code, p.tier, CAST(NULL AS VARCHAR) AS accepted_reason,
            p.booking_date, p.expected, p.amount, coalesce(n.named - 1, 0) AS rivals
        FROM reference_pairs AS p
        LEFT JOIN several_reference_lines AS n ON n.entry_id = p.entry_id
        WHERE p.is_whole AND p.contradiction IS NULL AND p.proves
            AND coalesce(n.is_single, TRUE)
            AND p.entry_id NOT IN (SELECT entry_id FROM other_readings)
            AND p.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'file', 'ignore'))
    ) AS p
    LEFT JOIN returned_amounts AS b ON b.entry_id = p.entry_id
    WHERE p.entry_id NOT IN (SELECT return_id FROM linked_returns)
        AND p.amount > coalesce(b.amount, 0)
)
SELECT s.*, coalesce(b.before, CAST(0 AS DECIMAL(38, 18))) AS before
FROM standing AS s
LEFT JOIN (
    SELECT entry_id, CAST(sum(amount) OVER (
        PARTITION BY expectation_id
        ORDER BY booking_date, entry_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS DECIMAL(38, 18)) AS before
    FROM standing
    WHERE expectation_id IN (SELECT expectation_id FROM standing GROUP BY expectation_id HAVING count(*) > 1)
) AS b ON b.entry_id = s.entry_id
