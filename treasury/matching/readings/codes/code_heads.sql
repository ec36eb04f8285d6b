-- One row per beginning of a code: its first `min_damaged` characters, or a shorter code as a whole. No code begins
-- at a place of a text that has none of these.
SELECT DISTINCT head, length(head) AS length
FROM (
    SELECT substr(c.code, 1, u.min_damaged) AS head
    FROM known_codes AS c
    CROSS JOIN rules AS u
) AS cut
