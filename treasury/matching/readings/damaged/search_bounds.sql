-- One row with two limits of the search for damaged codes: the number of characters of a field that are
-- searched (`max_text`), and the minimum length of a text (`shortest`). The minimum is `min_damaged`, or one
-- less if there are codes of exactly `min_damaged` characters.
SELECT u.max_text, CAST(u.min_damaged - count(z.size) AS INTEGER) AS shortest
FROM rules AS u
LEFT JOIN code_lengths AS z ON z.size = u.min_damaged
GROUP BY u.max_text, u.min_damaged
