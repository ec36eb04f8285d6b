-- One row per distinct beginning of a code without its signs: its first `min_damaged` characters, or the whole
-- code if it is shorter. Split codes are searched only where one of these begins (`code_beginnings`), damaged
-- codes also by their ends (`text_variants`).
SELECT DISTINCT head, length(head) AS length
FROM (
    SELECT substr(c.code, 1, u.min_damaged) AS head
    FROM known_codes AS c
    CROSS JOIN rules AS u
) AS cut
