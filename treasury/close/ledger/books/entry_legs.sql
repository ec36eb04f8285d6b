-- This step is a view: its rows are not stored.
-- One row per leg of a journal entry: an amount other than zero that is posted to one role, such as
-- `collections`. The entry is that of a bank line, of a request, or one that Python code makes (`other_legs`).
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM line_legs WHERE amount <> 0
UNION ALL
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM request_legs WHERE amount <> 0
UNION ALL
SELECT entry_no, part, place, role, account, currency, amount, subject_id FROM other_legs WHERE amount <> 0
