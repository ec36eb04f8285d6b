-- One row: the first booking day of a booked line, and the first and last booking day of any bank line.
SELECT
    min(booking_date) FILTER (WHERE coalesce(entry_status, 'BOOK') = 'BOOK') AS first_booked,
    CAST(min(booking_date) AS VARCHAR) AS first_day,
    CAST(max(booking_date) AS VARCHAR) AS last_day
FROM bank_lines
