-- One row of an export with words that no known movement of its day has. Not stored.
SELECT * FROM mine
WHERE NOT EXISTS (
    SELECT 1 FROM known_exports AS k
    WHERE left(k.entry_id, 32) = left(mine.entry_id, 32) AND k.booking_date = mine.booking_date
)
