-- How codes begin, or all of a short one: a place of a text where none of them stands begins no code.
SELECT DISTINCT head, length(head) AS length
FROM (
    SELECT substr(c.code, 1, u.min_damaged) AS head
    FROM known_codes AS c
    CROSS JOIN rules AS u
) AS cut
