-- One row per pair of a key of `payer_keys` (`payer`) and an earlier payment with this key (see
-- `payment_lessons`). `entry_id` is the line of this earlier payment. Within a currency and direction, `turn`
-- numbers the payments of a key and subject, and `amount_turn` those of a key and amount, the latest first.
-- `place` ranks the subjects of a key, the most recently paid first.
SELECT
    payer, entry_id, subject, booking_date, month_day, amount, currency, direction,
    row_number() OVER (PARTITION BY payer, currency, direction, subject ORDER BY booking_date DESC, entry_id) AS turn,
    row_number() OVER (PARTITION BY payer, currency, direction, amount ORDER BY booking_date DESC, entry_id) AS amount_turn,
    dense_rank() OVER (PARTITION BY payer, currency, direction ORDER BY last_date DESC, subject) AS place
FROM (
    SELECT *, max(booking_date) OVER (PARTITION BY payer, currency, direction, subject) AS last_date
    FROM (
        SELECT k.payer, s.entry_id, s.subject, s.booking_date, s.month_day, s.amount, s.currency, s.direction
        FROM lesson_subjects AS s
        JOIN (SELECT DISTINCT payer FROM payer_keys) AS k ON k.payer = 'A:' || s.counterparty_account
        UNION ALL
        SELECT k.payer, s.entry_id, s.subject, s.booking_date, s.month_day, s.amount, s.currency, s.direction
        FROM lesson_subjects AS s
        JOIN (SELECT DISTINCT payer FROM payer_keys) AS k ON k.payer = 'N:' || s.payer_name
        UNION ALL
        SELECT k.payer, s.entry_id, s.subject, s.booking_date, s.month_day, s.amount, s.currency, s.direction
        FROM lesson_subjects AS s
        JOIN (SELECT DISTINCT payer FROM payer_keys) AS k ON k.payer = CAST(s.amount AS VARCHAR) || ' ' || s.account
    ) AS every_lesson
) AS dated
