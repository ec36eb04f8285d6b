-- One row a line: the first outcome that holds, in the order of the contract.
SELECT
    l.entry_id,
    CASE
        WHEN l.line_class IS NOT NULL OR i.entry_id IS NOT NULL THEN 'ignored'
        WHEN b.entry_id IS NOT NULL THEN 'returned'
        WHEN r.is_duplicate THEN 'duplicate'
        WHEN r.accepted_reason IS NOT NULL THEN 'matched'
        WHEN n.codes > 1 OR n.viable = 0 THEN 'conflict'
        WHEN r.entry_id IS NOT NULL THEN 'matched'
        WHEN c.entry_id IS NOT NULL THEN 'suggested'
        ELSE 'unreferenced'
    END AS outcome,
    CASE
        WHEN l.line_class IS NOT NULL OR i.entry_id IS NOT NULL THEN NULL
        WHEN b.entry_id IS NOT NULL THEN b.expectation_id
        WHEN r.entry_id IS NOT NULL THEN r.expectation_id
        WHEN n.codes > 1 THEN NULL
        WHEN n.viable = 0 THEN n.any_id
        ELSE c.expectation_id
    END AS expectation_id,
    CASE
        WHEN l.line_class IS NOT NULL OR i.entry_id IS NOT NULL OR b.entry_id IS NOT NULL THEN NULL
        WHEN r.accepted_reason IS NOT NULL THEN NULL
        WHEN n.entry_id IS NOT NULL THEN 1
        ELSE c.tier
    END AS tier,
    CASE
        WHEN l.line_class IS NOT NULL THEN 'left out: ' || l.line_class
        WHEN i.entry_id IS NOT NULL THEN coalesce(i.reason, '')
        WHEN b.entry_id IS NOT NULL THEN b.reason
        WHEN r.is_duplicate THEN 'paid twice: the whole amount was received before'
        WHEN r.accepted_reason IS NOT NULL THEN 'accepted: ' || r.accepted_reason
        WHEN n.codes > 1 THEN CAST(n.codes AS VARCHAR) || ' different codes in one text'
        WHEN n.viable = 0 THEN n.contradiction
        WHEN r.entry_id IS NOT NULL AND r.amount > r.matched_amount THEN 'whole reference; more than what remained'
        WHEN r.entry_id IS NOT NULL AND r.before + r.amount < r.expected THEN 'whole reference; less than what remained'
        WHEN r.entry_id IS NOT NULL THEN 'whole reference'
        WHEN c.entry_id IS NOT NULL AND coalesce(l.entry_status, 'BOOK') <> 'BOOK' THEN c.reason || '; pending at bank'
        WHEN c.entry_id IS NOT NULL AND l.is_twin THEN c.reason || '; another line is alike in everything'
        WHEN c.entry_id IS NOT NULL AND n.viable > 1 THEN c.reason || ', as of ' || CAST(n.viable AS VARCHAR) || ' expectations'
        WHEN c.entry_id IS NOT NULL THEN c.reason
        ELSE 'no reference'
    END AS reason,
    CASE WHEN i.entry_id IS NULL AND b.entry_id IS NULL AND NOT r.is_duplicate THEN r.matched_amount END AS matched_amount,
    CASE WHEN r.entry_id IS NULL AND b.entry_id IS NULL THEN u.expectation_id END AS runner_up_id,
    CASE WHEN r.entry_id IS NULL AND b.entry_id IS NULL THEN c.score - u.score END AS margin,
    l.line_class
FROM lines AS l
LEFT JOIN (SELECT entry_id, reason FROM decisions WHERE verdict = 'ignore') AS i ON i.entry_id = l.entry_id
LEFT JOIN (
    SELECT r.return_id AS entry_id, min(p.expectation_id) AS expectation_id,
        'returned' || coalesce(' ' || min(r.return_reason), '') || ': brings back ' || min(r.original_id) AS reason
    FROM returns AS r LEFT JOIN pairs AS p ON p.entry_id = r.original_id
    GROUP BY r.return_id
    UNION ALL
    SELECT r.original_id AS entry_id, min(p.expectation_id) AS expectation_id,
        'returned' || coalesce(' ' || min(r.return_reason), '') || ': came back with ' || min(r.return_id) AS reason
    FROM returns AS r LEFT JOIN pairs AS p ON p.entry_id = r.original_id
    GROUP BY r.original_id
) AS b ON b.entry_id = l.entry_id
LEFT JOIN received AS r ON r.entry_id = l.entry_id
LEFT JOIN named AS n ON n.entry_id = l.entry_id
LEFT JOIN candidates AS c ON c.entry_id = l.entry_id AND c.rank = 1
LEFT JOIN candidates AS u ON u.entry_id = l.entry_id AND u.rank = 2 AND u.tier = c.tier
