-- Lines whose whole code may be part of a longer one: its neighbour completes that one, or the field is as
-- long as a bank allows and ends with it.
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
