-- One row per code with more expectations than one line is compared with (`max_same_code`).
SELECT code
FROM compared_codes
GROUP BY code
HAVING count(*) > (SELECT max_same_code FROM rules)
