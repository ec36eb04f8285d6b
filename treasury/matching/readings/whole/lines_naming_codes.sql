-- One row per line that names at least one code in full (`named_expectations`), with the first and the last of
-- its codes in alphabetical order (`code`, `other_code`). Both are equal for a line with one code.
WITH several AS (SELECT entry_id FROM named_expectations GROUP BY entry_id HAVING count(*) > 1)
SELECT w.entry_id, w.code, w.code AS other_code
FROM named_expectations AS w
ANTI JOIN several AS s ON s.entry_id = w.entry_id
UNION ALL
SELECT w.entry_id, min(w.code) AS code, max(w.code) AS other_code
FROM named_expectations AS w
JOIN several AS s ON s.entry_id = w.entry_id
GROUP BY w.entry_id
