-- read through: every side of every entry that moves anything: those of lines, of requests, and of the few that are made
-- one by one.
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM line_legs WHERE amount <> 0
UNION ALL
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM request_legs WHERE amount <> 0
UNION ALL
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM other_legs WHERE amount <> 0
