-- Each unplaced payment beside the earlier lessons of its payer's account, of the payer's name, and of its amount on
-- the account it reached: of very many the latest, and beyond them those of this amount.
SELECT k.entry_id, k.shown, t.subject, k.amount, k.booking_date, t.amount AS lesson_amount, t.booking_date AS lesson_date
FROM payer_keys AS k
JOIN taught AS t
    ON t.payer = k.payer AND t.currency = k.currency AND t.direction = k.direction AND t.booking_date < k.booking_date
CROSS JOIN rules AS u
WHERE t.turn <= u.max_lessons
UNION ALL
SELECT k.entry_id, k.shown, t.subject, k.amount, k.booking_date, t.amount AS lesson_amount, t.booking_date AS lesson_date
FROM payer_keys AS k
JOIN taught AS t
    ON t.payer = k.payer AND t.currency = k.currency AND t.direction = k.direction AND t.amount = k.amount
    AND t.booking_date < k.booking_date
CROSS JOIN rules AS u
WHERE t.turn > u.max_lessons AND t.amount_turn <= u.max_candidates
