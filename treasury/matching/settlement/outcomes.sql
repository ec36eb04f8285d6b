-- This step is a view: its rows are not stored.
-- One row per line, with its outcome, which follows from `ground` in `outcome_grounds`.
SELECT
    line.entry_id,
    CASE
        WHEN line.ground = 'left_out' THEN 'ignored'
        WHEN line.ground = 'conflicting' THEN 'conflict'
        WHEN line.ground IN ('accepted', 'received', 'shared') THEN 'matched'
        ELSE line.ground
    END AS outcome,
    CASE line.ground
        WHEN 'returned' THEN line.returned_id
        WHEN 'duplicate' THEN line.received_id
        WHEN 'accepted' THEN line.accepted_id
        WHEN 'conflicting' THEN line.conflicting_id
        WHEN 'received' THEN line.received_id
        WHEN 'shared' THEN line.shared_id
        WHEN 'suggested' THEN line.suggested_id
    END AS expectation_id,
    CASE WHEN line.ground NOT IN ('left_out', 'returned', 'accepted') THEN tier.rank END AS tier,
    CASE line.ground
        WHEN 'left_out' THEN line.left_out_reason
        WHEN 'returned' THEN line.returned_reason
        WHEN 'duplicate' THEN line.received_reason
        WHEN 'accepted' THEN line.accepted_reason
        WHEN 'conflicting' THEN line.conflicting_reason
        WHEN 'received' THEN line.received_reason
        WHEN 'shared' THEN line.shared_reason
        WHEN 'suggested' THEN line.suggested_reason
        ELSE line.unreferenced_reason
    END AS reason,
    CASE WHEN line.ground IN ('accepted', 'received', 'shared') THEN line.matched_amount END AS matched_amount,
    CASE WHEN line.may_have_runner_up THEN line.runner_up_id END AS runner_up_id,
    CASE WHEN line.may_have_runner_up THEN line.margin END AS margin,
    line.line_class
FROM outcome_grounds AS line
LEFT JOIN tiers AS tier ON tier.name = line.tier
