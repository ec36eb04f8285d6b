-- What a payer's earlier payments tell about an unplaced one: how many there were, for each subject and in all, how
-- many were of this amount and around this day of the month, and between which amounts they lay. Of very many the
-- latest are asked, and beyond them those of this amount.
SELECT
    entry_id, is_account, subject, amount, payments, of_amount, around_day, usual_day, lowest, highest,
    CAST(sum(payments) OVER (PARTITION BY entry_id, is_account) AS BIGINT) AS of_all
FROM (
    SELECT
        k.entry_id, k.is_account, t.subject, k.amount,
        count(*) AS payments,
        count(*) FILTER (WHERE t.amount = k.amount) AS of_amount,
        count(*) FILTER (
            WHERE abs(day(t.booking_date) - day(k.booking_date)) <= u.usual_days
                OR abs(day(t.booking_date) - day(k.booking_date)) >= 31 - u.usual_days
        ) AS around_day,
        day(max(t.booking_date)) AS usual_day,
        min(t.amount) AS lowest,
        max(t.amount) AS highest
    FROM payer_keys AS k
    JOIN taught AS t
        ON t.payer = k.payer AND t.currency = k.currency AND t.direction = k.direction AND t.booking_date < k.booking_date
    CROSS JOIN rules AS u
    WHERE t.turn <= u.max_lessons
    GROUP BY k.entry_id, k.is_account, t.subject, k.amount
) AS latest
UNION ALL
SELECT DISTINCT
    k.entry_id, k.is_account, t.subject, k.amount, CAST(1 AS BIGINT) AS payments, CAST(1 AS BIGINT) AS of_amount,
    CAST(0 AS BIGINT) AS around_day, CAST(NULL AS BIGINT) AS usual_day, k.amount AS lowest, k.amount AS highest,
    CAST(NULL AS BIGINT) AS of_all
FROM payer_keys AS k
JOIN taught AS t
    ON t.payer = k.payer AND t.currency = k.currency AND t.direction = k.direction AND t.amount = k.amount
    AND t.booking_date < k.booking_date
CROSS JOIN rules AS u
WHERE t.turn > u.max_lessons AND t.amount_turn <= u.max_candidates
