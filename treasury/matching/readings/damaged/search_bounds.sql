-- One row: how many characters of a field are searched for damaged codes, and the least length of a text that may be
-- one. If codes of exactly `min_damaged` characters exist, a text may be one character shorter.
SELECT u.max_text, CAST(u.min_damaged - count(z.size) AS INTEGER) AS shortest
FROM rules AS u
LEFT JOIN code_lengths AS z ON z.size = u.min_damaged
GROUP BY u.max_text, u.min_damaged
