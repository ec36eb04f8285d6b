-- Lines that name a code which is part of a longer one.
SELECT w.entry_id, n.short, n.expectation_id, n.code
FROM written AS w
JOIN nested_codes AS n ON n.short = w.code
