-- One row per separately booked line, in order.
SELECT entry_no, entry_id, booking_date, words, expectation_id FROM line_amounts ORDER BY entry_no
