-- One row per leg of the lines that are booked on their own, in the order of the lines.
SELECT entry_no, role, currency, amount, account FROM line_legs ORDER BY entry_no, part, place
