-- The subjects that each unplaced payment may be about: its payer's, the party that it names, those whose rare words
-- it says, and codes that few others share its amount with, at least two payments of it around this day.
SELECT DISTINCT entry_id, subject
FROM recalled
WHERE shown <> 'amount'
UNION
SELECT entry_id, subject
FROM shared_words
WHERE turn <= (SELECT max_candidates FROM rules)
UNION
SELECT k.entry_id, k.payer AS subject
FROM payer_keys AS k
JOIN open_parties AS o ON o.subject = k.payer
UNION
SELECT entry_id, subject
FROM (
    SELECT entry_id, subject, payments, around_day, count(*) OVER (PARTITION BY entry_id) AS subjects
    FROM (
        SELECT r.entry_id, r.subject, count(*) AS payments,
            count(*) FILTER (
                WHERE abs(day(r.lesson_date) - day(r.booking_date)) <= u.usual_days
                    OR abs(day(r.lesson_date) - day(r.booking_date)) >= 31 - u.usual_days
            ) AS around_day
        FROM recalled AS r
        CROSS JOIN rules AS u
        WHERE r.shown = 'amount' AND substr(r.subject, 1, 2) = 'E:'
        GROUP BY r.entry_id, r.subject
    ) AS of_amount
) AS counted
WHERE payments > 1 AND around_day > payments - around_day AND subjects <= (SELECT max_candidates FROM rules)
