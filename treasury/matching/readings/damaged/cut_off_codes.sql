-- One row per text and code that begins with this text: the end of the code may have been cut off.
SELECT f.form, c.expectation_id, c.code
FROM (
    SELECT c.expectation_id, c.code, substr(c.code, 1, k.length) AS start
    FROM known_codes AS c
    JOIN (SELECT DISTINCT size, length FROM damaged_forms WHERE size > length) AS k ON k.size = length(c.code)
) AS c
JOIN (SELECT DISTINCT form, compared FROM damaged_forms WHERE size > length) AS f ON f.compared = c.start
