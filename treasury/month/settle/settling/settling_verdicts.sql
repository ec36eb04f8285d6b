-- One row per decision about a settled line, with the decision as one text. Later runs compare this text with
-- that of the decision at their time.
SELECT v.entry_id, v.terms
FROM verdict_terms AS v
JOIN settling_lines AS l ON l.entry_id = v.entry_id
