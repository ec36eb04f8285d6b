-- How long the tokens are, of lines with a code between slashes, that a longer code may begin with: no more lengths
-- than the longest code has characters.
SELECT DISTINCT length(form) AS size
FROM token_parts
WHERE length(form) < (SELECT max(size) FROM code_lengths)
