-- One row per decision about a settled line, as one text, which a later run compares with the text of that
-- day.
SELECT v.entry_id, v.terms
FROM verdict_terms AS v
JOIN settling_lines AS l ON l.entry_id = v.entry_id
