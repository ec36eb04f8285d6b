-- One row per row of a new CSV export, if no movement of an earlier export has the same texts and the same
-- day.
SELECT mine.*
FROM mine ANTI JOIN (SELECT DISTINCT left(entry_id, 32) AS content, booking_date FROM known_exports) AS k
    ON k.content = left(mine.entry_id, 32) AND k.booking_date = mine.booking_date
