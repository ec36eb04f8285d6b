-- One row per row of a new export, if no stored movement of its day has the same texts.
SELECT mine.*
FROM mine ANTI JOIN (SELECT DISTINCT left(entry_id, 32) AS content, booking_date FROM known_exports) AS k
    ON k.content = left(mine.entry_id, 32) AND k.booking_date = mine.booking_date
