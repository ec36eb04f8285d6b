-- Each unplaced payment beside the earlier lessons of its payer's account, of the payer's name, and of its amount on
-- the account it reached: of very many the latest, and beyond them those of this amount; with what they share.
SELECT k.entry_id, k.shown, t.subject, t.booking_date AS lesson_date, t.amount, t.amount = k.amount AS is_amount,
    t.amount BETWEEN n.least AND n.most AS is_near, abs(t.month_day - k.month_day) AS apart
FROM payer_keys AS k
JOIN payer_lessons AS t
    ON t.payer = k.payer AND t.currency = k.currency AND t.direction = k.direction AND t.booking_date < k.booking_date
JOIN near_amounts AS n ON n.amount = k.amount
CROSS JOIN rules AS u
WHERE t.turn <= u.max_lessons AND t.place <= u.max_same_code
UNION ALL
SELECT k.entry_id, k.shown, t.subject, t.booking_date AS lesson_date, t.amount, TRUE AS is_amount, TRUE AS is_near,
    abs(t.month_day - k.month_day) AS apart
FROM payer_keys AS k
JOIN payer_lessons AS t
    ON t.payer = k.payer AND t.currency = k.currency AND t.direction = k.direction AND t.amount = k.amount
    AND t.booking_date < k.booking_date
CROSS JOIN rules AS u
WHERE (t.turn > u.max_lessons OR t.place > u.max_same_code) AND t.amount_turn <= u.max_candidates
