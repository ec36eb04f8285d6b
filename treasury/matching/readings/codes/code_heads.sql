-- One row per distinct beginning of a code: its first `min_damaged` characters, or a shorter code as a whole. A code
-- can begin only at places of a text that have one of these.
SELECT DISTINCT head, length(head) AS length
FROM (
    SELECT substr(c.code, 1, u.min_damaged) AS head
    FROM known_codes AS c
    CROSS JOIN rules AS u
) AS cut
