-- One row per code of more than `max_same_code` expectations, which are too many to compare with one line.
SELECT code
FROM compared_codes
GROUP BY code
HAVING count(*) > (SELECT max_same_code FROM rules)
