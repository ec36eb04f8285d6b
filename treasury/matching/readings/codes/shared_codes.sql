-- One row per code that more than `max_same_code` expectations have, which are too many to compare with each
-- line.
SELECT code
FROM compared_codes
GROUP BY code
HAVING count(*) > (SELECT max_same_code FROM rules)
