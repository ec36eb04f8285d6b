-- Codes of more expectations than are looked at for one line.
SELECT code
FROM compared_codes
GROUP BY code
HAVING count(*) > (SELECT max_same_code FROM rules)
