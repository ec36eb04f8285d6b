-- One row per line that takes no part in matching: its class leaves it out, or a person set it aside.
SELECT entry_id, 'left out: ' || line_class AS reason
FROM lines
WHERE line_class IS NOT NULL
UNION ALL
SELECT ignored.entry_id, coalesce(ignored.reason, '') AS reason
FROM ignored_lines AS ignored
JOIN lines AS line ON line.entry_id = ignored.entry_id AND line.line_class IS NULL
