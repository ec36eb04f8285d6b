-- One row per distinct beginning of a known code: its first `min_damaged` characters, or the whole code if it
-- is shorter. Texts are searched for split codes (`code_beginnings`) and for some kinds of damaged codes
-- (`text_variants`) only where one of these beginnings occurs.
SELECT DISTINCT head, length(head) AS length
FROM (
    SELECT substr(c.code, 1, u.min_damaged) AS head
    FROM known_codes AS c
    CROSS JOIN rules AS u
) AS cut
