-- Lengths of the codes without zeros.
SELECT length(serial) AS size
FROM serials
GROUP BY length(serial)
