-- One row per pair of a leg out and a leg in of a transfer between own bank accounts, with the same accounts,
-- currency and amount. Legs of the same day are paired first (`own_same_day`). Then the first of the other
-- legs out is paired with the first of the other legs in, and so on. Such a pair is kept only if the leg in
-- follows within a week.
SELECT out_id, in_id
FROM own_same_day
UNION ALL
SELECT o.entry_id AS out_id, i.entry_id AS in_id
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY from_account, to_account, currency, amount ORDER BY booking_date, entry_id
    ) AS turn
    FROM own_legs
    WHERE direction = 'DBIT' AND NOT EXISTS (SELECT 1 FROM own_same_day AS s WHERE s.out_id = own_legs.entry_id)
) AS o
JOIN (
    SELECT *, row_number() OVER (
        PARTITION BY from_account, to_account, currency, amount ORDER BY booking_date, entry_id
    ) AS turn
    FROM own_legs
    WHERE direction = 'CRDT' AND NOT EXISTS (SELECT 1 FROM own_same_day AS s WHERE s.in_id = own_legs.entry_id)
) AS i
    ON i.from_account = o.from_account AND i.to_account = o.to_account AND i.currency = o.currency
    AND i.amount = o.amount AND i.turn = o.turn
    AND date_diff('day', o.booking_date, i.booking_date) BETWEEN 0 AND 7
