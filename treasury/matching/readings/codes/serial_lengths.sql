-- Lengths of the codes without zeros.
SELECT length(serial) AS size
FROM code_serials
GROUP BY length(serial)
