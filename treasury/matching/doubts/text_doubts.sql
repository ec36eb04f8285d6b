-- One row per combination of a line, a question, and a reason in the line's own text why a person has to decide
-- about the line, independent of all payments. The question is null for two reasons: very many expectations
-- have the code, or a text is too long. Other codes that the text may name are in `other_readings`.
SELECT m.entry_id, 3 AS question, 'its digits are grouped otherwise than in ' || e.code AS why
FROM moved_groups AS m
JOIN expectations AS e ON e.expectation_id = m.expectation_id
UNION
SELECT entry_id, 2 AS question, 'a second number stands next to its number' AS why
FROM second_serials
UNION
SELECT r.entry_id, CAST(NULL AS INTEGER) AS question, 'very many expectations have its code' AS why
FROM code_readings AS r
JOIN shared_codes AS s ON s.code = r.code
UNION
SELECT entry_id, 2 AS question, 'a sign in its text stands for several letters' AS why
FROM reference_fields
WHERE NOT is_plain AND contains(text, '⃝')
UNION
SELECT f.entry_id, CAST(NULL AS INTEGER) AS question, 'its text is longer than the ' || CAST(u.max_text AS VARCHAR) || ' characters that are searched' AS why
FROM reference_fields AS f
JOIN rules AS u ON length(f.text) > u.max_text
