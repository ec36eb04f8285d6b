-- One row per line with a class. Lines that a person accepted, and debits of payment files, have no class.
SELECT entry_id, rule_name, line_class
FROM classed_lines
WHERE entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'file'))
