-- One row per code with more than `max_same_code` expectations. These are too many to compare with each line.
SELECT code
FROM compared_codes
GROUP BY code
HAVING count(*) > (SELECT max_same_code FROM rules)
