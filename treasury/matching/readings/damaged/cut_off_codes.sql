-- One row per pair of a text and an expectation with a code that begins with this text, because a bank may have
-- cut off the end (`PAY20260044` for `PAY2026004417`). `damaged_forms` limits how much longer the code may be.
SELECT f.form, c.expectation_id, c.code
FROM (
    SELECT c.expectation_id, c.code, substr(c.code, 1, k.length) AS start
    FROM known_codes AS c
    JOIN (SELECT DISTINCT size, length FROM damaged_forms WHERE size > length) AS k ON k.size = length(c.code)
) AS c
JOIN (SELECT DISTINCT form, compared FROM damaged_forms WHERE size > length) AS f ON f.compared = c.start
