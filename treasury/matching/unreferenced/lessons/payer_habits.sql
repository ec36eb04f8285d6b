-- One row per combination of a payment in `unplaced_payments`, a subject in `considered_subjects`, and a kind of
-- link to earlier payments (`shown`): the payer's account, the payer's name, a name in the text, or only the
-- subject. Only expectations are linked by the subject alone, with their latest 12 payments.
--
-- The row counts the earlier payments: all, those of this amount or nearly this amount, and those around this
-- day of the month. The days count only payments of nearly this amount if there are several, or else all
-- payments. `of_all` counts the earlier payments with this kind of link to any subject.
SELECT
    h.entry_id, h.shown, h.subject, h.payments, h.of_amount, h.near_amount, h.least, h.most, a.of_all,
    CASE WHEN h.near_amount > 1 THEN h.near_amount ELSE h.payments END AS alike,
    CASE WHEN h.near_amount > 1 THEN h.near_on_day ELSE h.on_day END AS on_day,
    CASE WHEN h.near_amount > 1 THEN h.near_around_day ELSE h.around_day END AS around_day,
    day(CASE WHEN h.near_amount > 1 THEN h.near_last ELSE h.last_date END) AS last_day
FROM (
    SELECT
        e.entry_id, e.shown, e.subject,
        count(*) AS payments,
        count(*) FILTER (WHERE e.is_amount) AS of_amount,
        count(*) FILTER (WHERE e.is_near) AS near_amount,
        min(e.amount) AS least,
        max(e.amount) AS most,
        count(*) FILTER (WHERE e.apart <= 1 OR e.apart >= 30) AS on_day,
        count(*) FILTER (WHERE e.apart <= u.usual_days OR e.apart >= 31 - u.usual_days) AS around_day,
        max(e.lesson_date) AS last_date,
        count(*) FILTER (WHERE e.is_near AND (e.apart <= 1 OR e.apart >= 30)) AS near_on_day,
        count(*) FILTER (WHERE e.is_near AND (e.apart <= u.usual_days OR e.apart >= 31 - u.usual_days)) AS near_around_day,
        max(e.lesson_date) FILTER (WHERE e.is_near) AS near_last
    FROM (
        SELECT r.entry_id, r.shown, r.subject, r.lesson_date, r.amount, r.is_amount, r.is_near, r.apart
        FROM recalled_lessons AS r
        JOIN considered_subjects AS c ON c.entry_id = r.entry_id AND c.subject = r.subject
        WHERE r.shown <> 'amount'
        UNION ALL
        SELECT considered.entry_id, 'subject' AS shown, considered.subject, lesson.booking_date AS lesson_date,
            lesson.amount, lesson.amount = payment.amount AS is_amount,
            lesson.amount BETWEEN near.least AND near.most AS is_near, abs(lesson.month_day - payment.month_day) AS apart
        FROM considered_subjects AS considered
        JOIN unplaced_payments AS payment ON payment.entry_id = considered.entry_id
        JOIN near_amounts AS near ON near.amount = payment.amount
        JOIN lesson_subjects AS lesson
            ON lesson.subject = considered.subject AND lesson.currency = payment.currency
                AND lesson.direction = payment.direction AND lesson.booking_date < payment.booking_date
        WHERE lesson.turn <= 12 AND substr(considered.subject, 1, 2) = 'E:'
    ) AS e
    CROSS JOIN rules AS u
    GROUP BY e.entry_id, e.shown, e.subject
) AS h
LEFT JOIN (
    SELECT entry_id, shown, count(*) AS of_all FROM recalled_lessons GROUP BY entry_id, shown
) AS a ON a.entry_id = h.entry_id AND a.shown = h.shown
