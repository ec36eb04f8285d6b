-- One row per leg (posting) in `line_legs`, in the order of the lines. These are lines of a closed month about
-- which a person decided late, each as it was posted and as it is decided now.
SELECT entry_no, role, currency, amount, account FROM line_legs ORDER BY entry_no, part, place
