-- One row per bank line in `line_amounts`, in order. These are lines of a closed month about which a person
-- decided late, each as it was posted and as it is decided now.
SELECT entry_no, entry_id, booking_date, words, expectation_id FROM line_amounts ORDER BY entry_no
