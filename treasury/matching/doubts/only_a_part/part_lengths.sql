-- One row per distinct length of a text in `token_parts`, if it is shorter than the longest known code.
SELECT DISTINCT length(form) AS size
FROM token_parts
WHERE length(form) < (SELECT max(size) FROM code_lengths)
