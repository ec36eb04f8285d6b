-- What earlier payments tell about an unplaced one, by what they share with it (the payer's account, the name, or
-- only the subject): how many there were, for each subject and in all, and how many of them were of this amount or
-- nearly, on this day of the month or around it.
SELECT
    entry_id, shown, subject,
    count(*) AS payments,
    CAST(sum(count(*)) OVER (PARTITION BY entry_id, shown) AS BIGINT) AS of_all,
    count(*) FILTER (WHERE lesson_amount = amount) AS of_amount,
    count(*) FILTER (WHERE 10 * CAST(abs(lesson_amount - amount) AS DECIMAL(28, 8)) <= CAST(lesson_amount AS DECIMAL(28, 8))) AS near_amount,
    count(*) FILTER (WHERE apart <= 1 OR apart >= 30) AS on_day,
    count(*) FILTER (WHERE apart <= u.usual_days OR apart >= 31 - u.usual_days) AS around_day,
    day(max(lesson_date)) AS last_day
FROM (
    SELECT entry_id, shown, subject, amount, lesson_amount, lesson_date, abs(day(lesson_date) - day(booking_date)) AS apart
    FROM recalled
    WHERE shown <> 'amount'
    UNION ALL
    SELECT c.entry_id, 'subject' AS shown, c.subject, p.amount, s.amount AS lesson_amount, s.booking_date AS lesson_date,
        abs(day(s.booking_date) - day(p.booking_date)) AS apart
    FROM considered AS c
    JOIN unplaced_payments AS p ON p.entry_id = c.entry_id
    JOIN subjects AS s
        ON s.subject = c.subject AND s.currency = p.currency AND s.direction = p.direction AND s.booking_date < p.booking_date
    WHERE s.turn <= 12
) AS earlier
CROSS JOIN rules AS u
GROUP BY entry_id, shown, subject
