-- The lessons that each unplaced payment's payer or amount leads to, the latest first: of all amounts, and of one.
SELECT
    payer, shown, entry_id, subject, booking_date, amount, currency, direction,
    row_number() OVER (PARTITION BY payer, currency, direction ORDER BY booking_date DESC, entry_id) AS turn,
    row_number() OVER (PARTITION BY payer, currency, direction, amount ORDER BY booking_date DESC, entry_id) AS amount_turn
FROM (
    SELECT k.payer, k.shown, s.entry_id, s.subject, s.booking_date, s.amount, s.currency, s.direction
    FROM subjects AS s
    JOIN (SELECT DISTINCT payer, shown FROM payer_keys) AS k ON k.payer = 'A:' || s.counterparty_account
    UNION ALL
    SELECT k.payer, k.shown, s.entry_id, s.subject, s.booking_date, s.amount, s.currency, s.direction
    FROM subjects AS s
    JOIN (SELECT DISTINCT payer, shown FROM payer_keys) AS k ON k.payer = 'N:' || s.payer_name
    UNION ALL
    SELECT k.payer, k.shown, s.entry_id, s.subject, s.booking_date, s.amount, s.currency, s.direction
    FROM subjects AS s
    JOIN (SELECT DISTINCT payer, shown FROM payer_keys) AS k ON k.payer = CAST(s.amount AS VARCHAR) || ' ' || s.account
) AS every_lesson
