-- One row per journal entry, with its position by date and name (`turn`), and with its text (`words`), which
-- may contain texts of the bank or the service.
SELECT
    entry_no, entry, booked_on, words,
    row_number() OVER (ORDER BY booked_on, entry, entry_no) AS turn
FROM (
    SELECT
        entry_no, 'line:' || entry_id AS entry, booking_date AS booked_on,
        coalesce(nullif(words, ''), 'bank line') AS words
    FROM line_amounts
    UNION ALL
    SELECT
        entry_no, 'request:' || request_id, completed_on,
        coalesce(nullif(reference, ''), request_id) || ' completed'
    FROM request_amounts
    UNION ALL
    SELECT entry_no, entry, booked_on, words FROM other_entries
) AS e
