-- One row per leg of separately booked lines, in the order of the lines.
SELECT entry_no, role, currency, amount, account FROM line_legs ORDER BY entry_no, part, place
