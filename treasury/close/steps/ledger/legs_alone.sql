-- One row per leg (posting) in `line_legs`, in the order of the lines. This query is used for lines of a closed
-- month that a person decided late: `line_legs` then has each line twice, as posted and as decided now.
SELECT entry_no, role, currency, amount, account FROM line_legs ORDER BY entry_no, part, place
