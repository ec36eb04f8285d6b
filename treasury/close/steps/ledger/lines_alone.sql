-- One row per bank line that is booked on its own, in order.
SELECT entry_no, entry_id, booking_date, words, expectation_id FROM line_amounts ORDER BY entry_no
