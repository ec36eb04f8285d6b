-- One row per line that is excluded from matching, by its class or by a person, with the reason.
SELECT entry_id, 'left out: ' || line_class AS reason
FROM lines
WHERE line_class IS NOT NULL
UNION ALL
SELECT ignored.entry_id, coalesce(ignored.reason, '') AS reason
FROM ignored_lines AS ignored
JOIN lines AS line ON line.entry_id = ignored.entry_id AND line.line_class IS NULL
