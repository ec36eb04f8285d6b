-- The expectations that returns name and name alone, each with the facts that what they bring back must meet.
SELECT DISTINCT
    m.entry_id AS return_id, w.expectation_id, m.account, m.currency, m.amount, m.booking_date,
    CASE m.direction WHEN 'CRDT' THEN 'DBIT' ELSE 'CRDT' END AS direction,
    coalesce(m.reference, '') AS reference
FROM marked AS m
JOIN owners AS w ON w.entry_id = m.entry_id
LEFT JOIN ambiguous_lines AS x ON x.entry_id = m.entry_id
WHERE x.entry_id IS NULL
