-- One row per movement of an earlier CSV export that has no bank reference and is missing from the new export,
-- if the new export has a row of the same account, currency, day, direction and amount with other texts and
-- without a bank reference.
SELECT DISTINCT ON (k.entry_id) k.*
FROM known_exports AS k
SEMI JOIN (
    SELECT DISTINCT account, currency, booking_date, direction, amount FROM unknown
    WHERE account_servicer_reference IS NULL
) AS u ON u.booking_date = k.booking_date AND u.direction = k.direction AND u.amount = k.amount
    AND u.account IS NOT DISTINCT FROM k.account AND u.currency IS NOT DISTINCT FROM k.currency
ANTI JOIN (SELECT DISTINCT left(entry_id, 32) AS content, booking_date FROM mine) AS m
    ON m.content = left(k.entry_id, 32) AND m.booking_date = k.booking_date
WHERE k.account_servicer_reference IS NULL
ORDER BY k.entry_id, k.file
