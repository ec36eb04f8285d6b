-- Is it only a part? Lines that name a code between slashes, of a token that a longer code begins with.
SELECT DISTINCT s.entry_id, s.code AS short, c.expectation_id, c.code
FROM (
    SELECT g.entry_id, g.code, replace(replace(replace(t.token, '-', ''), '/', ''), '.', '') AS form
    FROM segments AS g
    JOIN tokens AS t ON t.entry_id = g.entry_id
) AS s
JOIN (
    SELECT c.expectation_id, c.code, substr(c.code, 1, k.size) AS start
    FROM codes AS c
    JOIN part_sizes AS k ON k.size < length(c.code)
) AS c ON c.start = s.form
WHERE contains(s.form, s.code)
QUALIFY row_number() OVER (PARTITION BY s.entry_id, s.code ORDER BY c.code, c.expectation_id) <= 5
