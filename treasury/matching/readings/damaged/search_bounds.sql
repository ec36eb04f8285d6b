-- One row: the number of characters of a field that are searched for damaged codes, and the minimum length of a
-- text that may be a damaged code. If codes of exactly `min_damaged` characters exist, the minimum is one
-- character less.
SELECT u.max_text, CAST(u.min_damaged - count(z.size) AS INTEGER) AS shortest
FROM rules AS u
LEFT JOIN code_lengths AS z ON z.size = u.min_damaged
GROUP BY u.max_text, u.min_damaged
