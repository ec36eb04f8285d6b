-- One row per line with a class; lines accepted by a person and debits of payment files have none.
SELECT entry_id, rule_name, line_class
FROM classed_lines
WHERE entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'file'))
