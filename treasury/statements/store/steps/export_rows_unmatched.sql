-- One known movement that the new export lacks, if that has one of the same day and amount in other words. Not stored.
SELECT DISTINCT ON (k.entry_id) k.*
FROM known_exports AS k
WHERE EXISTS (
    SELECT 1 FROM unknown AS u
    WHERE u.booking_date = k.booking_date AND u.direction = k.direction AND u.amount = k.amount
        AND u.account IS NOT DISTINCT FROM k.account AND u.currency IS NOT DISTINCT FROM k.currency
) AND NOT EXISTS (
    SELECT 1 FROM mine AS m
    WHERE left(m.entry_id, 32) = left(k.entry_id, 32) AND m.booking_date = k.booking_date
)
ORDER BY k.entry_id, k.file
