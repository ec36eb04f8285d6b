-- One row per line of a group of equal payments (see `equal_groups`) that a person can decide as a whole, with
-- the request assigned to the line. All lines of the group are booked, and the best candidate of each line is
-- its assigned request.
SELECT entry_id, expectation_id, group_id
FROM (
    SELECT g.entry_id, g.expectation_id, g.group_id, g.size, count(*) OVER (PARTITION BY g.group_id) AS first_candidates
    FROM equal_groups AS g
    JOIN ranked_candidates AS r ON r.entry_id = g.entry_id AND r.expectation_id = g.expectation_id AND r.tier = g.tier
    JOIN lines AS l ON l.entry_id = g.entry_id
    WHERE g.is_assigned AND g.size > 1 AND r.rank = 1
        AND l.line_class IS NULL AND coalesce(l.entry_status, 'BOOK') = 'BOOK'
) AS assigned_lines
WHERE first_candidates = size
