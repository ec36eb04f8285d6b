-- The legs of lines by themselves, in the order of the lines, one row each. Not stored.
SELECT entry_no, role, currency, amount, account FROM line_legs ORDER BY entry_no, part, place
