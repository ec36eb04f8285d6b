-- One row per distinct length of a serial (see `code_serials`).
SELECT length(serial) AS size
FROM code_serials
GROUP BY length(serial)
