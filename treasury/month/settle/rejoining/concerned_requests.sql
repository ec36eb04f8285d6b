-- Settled requests that take part again: those that something may concern, and those of the lines that may come back.
SELECT expectation_id FROM read_requests
UNION
SELECT expectation_id FROM concerned_lines WHERE expectation_id IS NOT NULL
