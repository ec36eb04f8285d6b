-- Codes of which a text is the beginning, up to four characters short.
SELECT f.form, c.expectation_id, c.code
FROM codes AS c
JOIN (SELECT DISTINCT size, length FROM forms WHERE size > length) AS k ON k.size = length(c.code)
JOIN forms AS f ON f.size = k.size AND f.length = k.length AND f.form = substr(c.code, 1, k.length)
