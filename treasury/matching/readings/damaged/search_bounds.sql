-- How much of a field is searched for damaged codes, and how long a text is at least that may be one: where codes have just
-- as many characters as a damaged one, it may have lost one of them.
SELECT u.max_text, CAST(u.min_damaged - count(z.size) AS INTEGER) AS shortest
FROM rules AS u
LEFT JOIN code_lengths AS z ON z.size = u.min_damaged
GROUP BY u.max_text, u.min_damaged
