-- Lines whose whole code may not be what they mean: it is part of a longer one, which its neighbour completes, or
-- which is there but for other characters inside it, or which the field had no room for; or, on a line of
-- another amount, a second code stands there too, broken.
SELECT n.entry_id, n.expectation_id, n.code, 2 AS tier
FROM nested_lines AS n
JOIN rejoined AS r ON r.entry_id = n.entry_id AND r.expectation_id = n.expectation_id
UNION
SELECT n.entry_id, n.expectation_id, n.code, 4 AS tier
FROM nested_lines AS n
JOIN looked_at AS w ON w.entry_id = n.entry_id
CROSS JOIN rules AS u
WHERE n.short = substr(n.code, 1, length(n.short))
    AND n.short = replace(replace(replace(split_part(regexp_replace(w.text, '[^\p{L}\p{N}./-]+', ' ', 'g'), ' ', -1), '-', ''), '/', ''), '.', '')
    AND length(w.text) >= CASE w.field WHEN 'remittance' THEN u.remittance_limit ELSE u.reference_limit END
UNION
SELECT n.entry_id, n.expectation_id, n.code, 4 AS tier
FROM nested_lines AS n
JOIN looked_at AS w ON w.entry_id = n.entry_id
WHERE contains(regexp_replace(w.text, '[^\p{L}\p{N}]+', '', 'g'), n.code)
UNION
SELECT r.entry_id, r.expectation_id, r.code, 2 AS tier
FROM rejoined AS r
JOIN other_amounts AS o ON o.entry_id = r.entry_id
WHERE NOT EXISTS (SELECT 1 FROM written AS w WHERE w.entry_id = r.entry_id AND w.code = r.code)
