-- The class of each line that has one; a line that a person accepted, or that is a payment file's debit, has none.
SELECT entry_id, rule_name, line_class
FROM classed_lines
WHERE entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'file'))
