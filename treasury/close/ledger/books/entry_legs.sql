-- This step is a view: its rows are not stored.
-- One row per leg with an amount, of bank lines, requests and single entries.
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM line_legs WHERE amount <> 0
UNION ALL
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM request_legs WHERE amount <> 0
UNION ALL
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM other_legs WHERE amount <> 0
