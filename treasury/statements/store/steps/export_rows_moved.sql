-- One row per pair of a row of a new CSV export and a stored movement that may be the same movement although
-- its day differs, by at most $days. Neither has a counterpart on its own day. Account, currency, amount,
-- direction and status are equal, and their bank references do not differ. The balance after the movement is
-- equal too or, if one of them states no balance, the texts are equal. Of several equal rows, the first row is
-- paired with the first movement, and so on.
WITH unmatched AS (
    SELECT k.file, NULL AS place, k.* EXCLUDE (file, place)
    FROM known_exports AS k
    ANTI JOIN mine AS same ON same.entry_id = k.entry_id
    ANTI JOIN (SELECT DISTINCT left(entry_id, 32) AS content, booking_date FROM mine) AS m
        ON m.content = left(k.entry_id, 32) AND m.booking_date = k.booking_date
    UNION ALL
    FROM unmatched_rows
), numbered AS (
    SELECT u.*, left(u.entry_id, 32) AS content, s.first_day, s.last_day,
        CASE WHEN u.entry_status <> 'BOOK' THEN 0 WHEN u.direction = 'DBIT' THEN -u.amount ELSE u.amount END AS moved,
        row_number() OVER (
            PARTITION BY u.place IS NULL, u.account, u.currency, u.direction, u.amount, u.balance_after
            ORDER BY u.booking_date, u.place, u.entry_id
        ) AS nth_of_balance,
        row_number() OVER (
            PARTITION BY u.place IS NULL, left(u.entry_id, 32) ORDER BY u.booking_date, u.place, u.entry_id
        ) AS nth_of_content
    FROM unmatched AS u JOIN export_statements AS s ON s.file = u.file AND s.statement_id = u.statement_id
    WHERE u.entry_id NOT IN (SELECT entry_id FROM doubtful) AND coalesce(u.place, -1) NOT IN (SELECT place FROM doubtful)
    QUALIFY row_number() OVER (PARTITION BY u.place, u.entry_id ORDER BY u.file) = 1
), incoming AS (
    FROM numbered WHERE place IS NOT NULL
), known AS (
    FROM numbered WHERE place IS NULL
), alike AS (
    SELECT i.place, k.entry_id, TRUE AS states_balance
    FROM incoming AS i
    JOIN known AS k ON k.amount = i.amount AND k.direction = i.direction AND k.balance_after = i.balance_after
        AND k.account IS NOT DISTINCT FROM i.account AND k.currency IS NOT DISTINCT FROM i.currency
        AND k.nth_of_balance = i.nth_of_balance
    UNION ALL
    SELECT i.place, k.entry_id, FALSE AS states_balance
    FROM incoming AS i JOIN known AS k ON k.content = i.content AND k.nth_of_content = i.nth_of_content
    WHERE k.balance_after IS NULL OR i.balance_after IS NULL
)
SELECT a.place, a.entry_id, a.states_balance, i.statement_id, i.booking_date, k.booking_date AS known_date, i.moved,
    i.booking_date BETWEEN k.first_day AND k.last_day AS is_in_known_days,
    k.booking_date BETWEEN i.first_day AND i.last_day AS is_in_new_days
FROM alike AS a JOIN incoming AS i ON i.place = a.place JOIN known AS k ON k.entry_id = a.entry_id
WHERE k.booking_date <> i.booking_date AND k.entry_status = i.entry_status
    AND abs(k.booking_date - i.booking_date) <= $days
    AND coalesce(k.account_servicer_reference = i.account_servicer_reference, TRUE)
ORDER BY a.place, a.states_balance DESC
