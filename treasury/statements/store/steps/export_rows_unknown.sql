-- One row per export row if no stored movement on its day has the same words. The rows are not stored.
SELECT mine.*
FROM mine ANTI JOIN (SELECT DISTINCT left(entry_id, 32) AS content, booking_date FROM known_exports) AS k
    ON k.content = left(mine.entry_id, 32) AND k.booking_date = mine.booking_date
