-- One row per pair of a line and an expectation that the line's text names, if the line could be matched
-- automatically but its amount does not confirm the match: the expectation takes any amount, or the line pays
-- neither the whole amount nor what remains.
SELECT p.entry_id, p.expectation_id, p.code
FROM reference_pairs AS p
LEFT JOIN provisional_pairs AS v ON v.entry_id = p.entry_id AND v.expectation_id = p.expectation_id
LEFT JOIN several_reference_lines AS n ON n.entry_id = p.entry_id
LEFT JOIN other_readings AS o ON o.entry_id = p.entry_id AND o.expectation_id = p.expectation_id
WHERE p.needs <> 'person' AND p.contradiction IS NULL AND p.proves AND o.entry_id IS NULL
    AND coalesce(n.is_single, TRUE)
    AND (p.expected IS NULL OR (p.expected <> p.amount AND p.expected - coalesce(v.before, 0) <> p.amount))
