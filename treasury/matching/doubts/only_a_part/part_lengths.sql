-- One row per length of a text in `token_parts` that is shorter than the longest code.
SELECT DISTINCT length(form) AS size
FROM token_parts
WHERE length(form) < (SELECT max(size) FROM code_lengths)
