-- This step is a view: its rows are not stored.
-- One row per pair of a line that pays several expectations and one of these expectations, with its share of
-- the line and the role to which the share is posted.
SELECT
    l.entry_no, s.place, l.currency, s.expectation_id,
    CASE
        WHEN v.virtual_bank_account_id IS NOT NULL THEN 'collections'
        WHEN l.direction = 'CRDT' THEN 'off-ramp in transit'
        ELSE 'on-ramp in transit'
    END AS role,
    CASE WHEN l.direction = 'CRDT' THEN -s.amount ELSE s.amount END AS amount
FROM line_amounts AS l
JOIN line_shares AS s ON s.entry_id = l.entry_id
LEFT JOIN standing_accounts AS v ON v.virtual_bank_account_id = split_part(s.expectation_id, '/', 1)
WHERE l.is_shared
