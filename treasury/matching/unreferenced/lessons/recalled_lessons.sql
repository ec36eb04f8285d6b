-- One row per combination of a payment in `unplaced_payments`, an earlier payment in `payment_lessons`, and a
-- fact that both have in common (`shown`): the payer's account, the payer's name, a name in the text, or the
-- amount and the receiving account. If there are very many earlier payments, only the latest `max_lessons` of
-- each of the `max_same_code` latest subjects are included, and `max_candidates` of the same amount.
SELECT payer_key.entry_id, payer_key.shown, lesson.subject, lesson.booking_date AS lesson_date, lesson.amount,
    lesson.amount = payer_key.amount AS is_amount,
    lesson.amount BETWEEN near.least AND near.most AS is_near, abs(lesson.month_day - payer_key.month_day) AS apart
FROM payer_keys AS payer_key
JOIN payer_lessons AS lesson
    ON lesson.payer = payer_key.payer AND lesson.currency = payer_key.currency
        AND lesson.direction = payer_key.direction AND lesson.booking_date < payer_key.booking_date
JOIN near_amounts AS near ON near.amount = payer_key.amount
CROSS JOIN rules AS rule
WHERE lesson.turn <= rule.max_lessons AND lesson.place <= rule.max_same_code
UNION ALL
SELECT k.entry_id, k.shown, t.subject, t.booking_date AS lesson_date, t.amount, TRUE AS is_amount, TRUE AS is_near,
    abs(t.month_day - k.month_day) AS apart
FROM payer_keys AS k
JOIN payer_lessons AS t
    ON t.payer = k.payer AND t.currency = k.currency AND t.direction = k.direction AND t.amount = k.amount
    AND t.booking_date < k.booking_date
CROSS JOIN rules AS u
WHERE (t.turn > u.max_lessons OR t.place > u.max_same_code) AND t.amount_turn <= u.max_candidates
