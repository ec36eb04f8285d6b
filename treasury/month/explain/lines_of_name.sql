-- One row per bank line with an id that begins with $name (`is_meant`). The line with the most similar id is
-- always included. It is suggested if no id begins with $name.
SELECT entry_id, booking_date, starts_with(entry_id, $name) AS is_meant
FROM bank_lines
QUALIFY starts_with(entry_id, $name)
    OR row_number() OVER (ORDER BY levenshtein(entry_id, $name), entry_id) = 1
ORDER BY entry_id
