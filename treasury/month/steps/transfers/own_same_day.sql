-- One row per pair of a leg out and a leg in with the same day, accounts, currency and amount. The first leg
-- out, by id, is paired with the first leg in, and so on.
SELECT o.entry_id AS out_id, i.entry_id AS in_id
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY from_account, to_account, currency, amount, booking_date ORDER BY entry_id
    ) AS turn
    FROM own_legs WHERE direction = 'DBIT'
) AS o
JOIN (
    SELECT *, row_number() OVER (
        PARTITION BY from_account, to_account, currency, amount, booking_date ORDER BY entry_id
    ) AS turn
    FROM own_legs WHERE direction = 'CRDT'
) AS i
    ON i.from_account = o.from_account AND i.to_account = o.to_account AND i.currency = o.currency
    AND i.amount = o.amount AND i.booking_date = o.booking_date AND i.turn = o.turn
