-- What lines by themselves are booked as, in their order, one row each. Not stored.
SELECT entry_no, entry_id, booking_date, words, expectation_id FROM line_amounts ORDER BY entry_no
