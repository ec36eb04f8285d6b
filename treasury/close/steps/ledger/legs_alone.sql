-- One row per leg (posting) of a bank line in `line_legs`, in the order of the lines.
SELECT entry_no, role, currency, amount, account FROM line_legs ORDER BY entry_no, part, place
