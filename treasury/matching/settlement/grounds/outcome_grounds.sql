-- This step is a view: its rows are not stored.
-- One row per line, with the cause that determines its outcome (`ground`): the first that applies, in the order
-- of this CASE. An acceptance comes before a conflict. The row also has the expectation, tier, amount and reason
-- that each cause would give. `may_have_runner_up`: the line has neither an acceptance, a return, a conflict nor
-- a sum, and no single reference names its expectation.
SELECT
    line.entry_id,
    line.line_class,
    CASE
        WHEN left_out.entry_id IS NOT NULL THEN 'left_out'
        WHEN returned.entry_id IS NOT NULL THEN 'returned'
        WHEN received.is_duplicate THEN 'duplicate'
        WHEN accepted.entry_id IS NOT NULL THEN 'accepted'
        WHEN conflicting.entry_id IS NOT NULL THEN 'conflicting'
        WHEN received.entry_id IS NOT NULL THEN 'received'
        WHEN shared.entry_id IS NOT NULL THEN 'shared'
        WHEN candidate.entry_id IS NOT NULL THEN 'suggested'
        ELSE 'unreferenced'
    END AS ground,
    left_out.reason AS left_out_reason,
    returned.expectation_id AS returned_id,
    returned.reason AS returned_reason,
    accepted.expectation_id AS accepted_id,
    accepted.reason AS accepted_reason,
    conflicting.expectation_id AS conflicting_id,
    conflicting.reason AS conflicting_reason,
    received.expectation_id AS received_id,
    received.reason AS received_reason,
    shared.expectation_id AS shared_id,
    CASE shared.needs WHEN 'exact_sum' THEN 'whole references, and exactly what all of them still expect' ELSE candidate.reason END
        AS shared_reason,
    candidate.expectation_id AS suggested_id,
    candidate.suggestion AS suggested_reason,
    coalesce(unlinked.reason, lapsed.reason, 'no reference') AS unreferenced_reason,
    coalesce(received.tier, conflicting.tier, shared.tier, candidate.tier) AS tier,
    coalesce(received.matched_amount, shared.matched_amount) AS matched_amount,
    candidate.runner_up_id,
    candidate.margin,
    coalesce(received.rivals, 1) > 0 AND accepted.entry_id IS NULL AND returned.entry_id IS NULL
        AND conflicting.entry_id IS NULL AND coalesce(shared.needs, 'amount') IN ('amount', 'amount_or_payer')
        AS may_have_runner_up
FROM lines AS line
LEFT JOIN left_out_lines AS left_out ON left_out.entry_id = line.entry_id
LEFT JOIN returned_lines AS returned ON returned.entry_id = line.entry_id
LEFT JOIN received_lines AS received ON received.entry_id = line.entry_id
LEFT JOIN accepted_lines AS accepted ON accepted.entry_id = line.entry_id
LEFT JOIN conflicting_lines AS conflicting ON conflicting.entry_id = line.entry_id
LEFT JOIN shared_lines AS shared ON shared.entry_id = line.entry_id
LEFT JOIN best_candidates AS candidate ON candidate.entry_id = line.entry_id
LEFT JOIN return_reasons AS unlinked ON unlinked.entry_id = line.entry_id
LEFT JOIN lapsed_acceptances AS lapsed ON lapsed.entry_id = line.entry_id
