-- One row per pair of a group of lines that a return may bring back (see `origin_groups`) and an expectation
-- that a line of the group is about (`named_id`).
SELECT g.*, c.expectation_id AS named_id
FROM (
    SELECT DISTINCT o.group_id, w.expectation_id
    FROM return_origins AS o
    JOIN line_subjects AS w ON w.entry_id = o.entry_id
) AS c
JOIN origin_groups AS g ON g.group_id = c.group_id
