-- One row per bank line in `line_amounts`, in the order of the lines. The lines become journal entries apart
-- from the month's other entries.
SELECT entry_no, entry_id, booking_date, words, expectation_id FROM line_amounts ORDER BY entry_no
