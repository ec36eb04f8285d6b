-- One row per distinct length of a serial, which is a code without punctuation and leading zeros (see
-- `code_serials`).
SELECT length(serial) AS size
FROM code_serials
GROUP BY length(serial)
