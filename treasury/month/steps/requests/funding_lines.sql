-- One row per ramp request that the outcome of a line names, with facts about lines that are not matched to
-- it: debits that contradict it, pending lines, lines that may belong to it and need a decision, a debit that
-- reached the provider without its reference (`unnamed_on`), and returns of its money with their reason.
SELECT
    o.expectation_id AS request_id,
    min(o.reason) FILTER (WHERE o.outcome = 'conflict' AND l.direction = 'DBIT') AS contradiction,
    max(l.booking_date) FILTER (WHERE o.outcome = 'conflict' AND l.direction = 'DBIT') AS wrong_on,
    count(*) FILTER (WHERE coalesce(l.entry_status, 'BOOK') <> 'BOOK') AS pending,
    max(l.booking_date) FILTER (WHERE o.outcome = 'suggested' AND coalesce(l.entry_status, 'BOOK') = 'BOOK') AS maybe_on,
    max(l.booking_date) FILTER (
        WHERE o.outcome = 'suggested' AND coalesce(l.entry_status, 'BOOK') = 'BOOK'
            AND o.tier = (SELECT rank FROM tiers WHERE given_by = 'unnamed_candidates') AND o.runner_up_id IS NULL AND l.direction = 'DBIT' AND l.amount = r.fiat_amount
            AND l.counterparty_account = upper(replace(r.deposit_iban, ' ', ''))
    ) AS unnamed_on,
    max(l.booking_date) FILTER (WHERE o.outcome = 'returned' AND l.direction = 'CRDT') AS returned_on,
    max(l.booking_date) FILTER (WHERE o.outcome = 'returned' AND l.direction = 'DBIT') AS came_back_of,
    min(l.return_reason) FILTER (WHERE o.outcome = 'returned') AS return_reason
FROM (
    SELECT entry_id, expectation_id, outcome, reason, tier, runner_up_id FROM outcomes
    UNION ALL
    SELECT o.entry_id, b.expectation_id, o.outcome, o.reason, o.tier, o.runner_up_id
    FROM (
        SELECT return_id AS entry_id, expectation_id FROM returned_expectations
        UNION
        SELECT original_id AS entry_id, expectation_id FROM returned_expectations
    ) AS b
    JOIN outcomes AS o ON o.entry_id = b.entry_id
    WHERE o.outcome = 'returned' AND o.expectation_id <> b.expectation_id
) AS o
JOIN bank_lines AS l ON l.entry_id = o.entry_id
JOIN ramp_requests AS r ON r.id = o.expectation_id
GROUP BY o.expectation_id
