-- One row per earlier payment in `payment_lessons`, with the payment's subject: the account of its expectation's
-- counterparty (`A:`), or else the counterparty's folded name (`N:`), or else the expectation (`E:`). Within a
-- currency and direction, `turn` numbers the payments of a subject, the latest first.
SELECT
    entry_id, booking_date, day(booking_date) AS month_day, amount, account, currency, direction, counterparty_account, payer_name, subject,
    row_number() OVER (PARTITION BY subject, currency, direction ORDER BY booking_date DESC, entry_id) AS turn
FROM (
    SELECT s.entry_id, s.booking_date, s.amount, s.account, s.currency, s.direction, s.counterparty_account,
        n.folded AS payer_name,
        coalesce('A:' || s.owner_account, 'N:' || o.folded, 'E:' || s.expectation_id) AS subject
    FROM payment_lessons AS s
    LEFT JOIN folded_names AS n ON n.name = s.counterparty_name
    LEFT JOIN folded_names AS o ON o.name = s.owner_name
) AS told
