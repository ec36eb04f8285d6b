-- The expectations that returns name and name alone, each with the facts that what they bring back must meet. `goes_by`:
-- the code alone, where the return states no reference; the code of a payment without one, where what it states is the
-- code itself or a person said whose money it is; else the reference too.
SELECT DISTINCT
    m.entry_id AS return_id, w.expectation_id, m.account, m.currency, m.amount, m.booking_date,
    CASE m.direction WHEN 'CRDT' THEN 'DBIT' ELSE 'CRDT' END AS direction,
    m.reference,
    CASE WHEN m.reference = '' THEN 'code' WHEN n.entry_id IS NOT NULL OR a.entry_id IS NOT NULL THEN 'code without reference'
        ELSE 'reference' END AS goes_by
FROM (
    SELECT entry_id, account, currency, direction, amount, booking_date, coalesce(reference, '') AS reference, reference_letters
    FROM marked_returns
) AS m
JOIN line_subjects AS w ON w.entry_id = m.entry_id
LEFT JOIN ambiguous_lines AS x ON x.entry_id = m.entry_id
LEFT JOIN named_lines AS n ON n.entry_id = m.entry_id AND n.code = m.reference_letters
LEFT JOIN accepted_pairs AS a ON a.entry_id = m.entry_id AND a.brings_back
WHERE x.entry_id IS NULL
