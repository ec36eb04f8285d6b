-- How long the tokens are, of lines with a code between slashes, that a longer code may begin with: no more lengths
-- than the longest code has characters.
SELECT length(replace(replace(replace(t.token, '-', ''), '/', ''), '.', '')) AS size
FROM tokens AS t
JOIN segments AS g ON g.entry_id = t.entry_id
WHERE length(replace(replace(replace(t.token, '-', ''), '/', ''), '.', '')) < (SELECT max(size) FROM sizes)
GROUP BY length(replace(replace(replace(t.token, '-', ''), '/', ''), '.', ''))
