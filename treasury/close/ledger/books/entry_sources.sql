-- This step is a view: its rows are not stored.
-- One row per pair of a journal entry and a record behind it: a bank line, an expectation that the line pays, a
-- request, or a source of an entry that Python code makes (`other_sources`).
SELECT entry_no, 1 AS part, 0 AS place, entry_id AS source_id FROM line_amounts
UNION ALL
SELECT entry_no, 2, 0, expectation_id FROM line_amounts WHERE expectation_id IS NOT NULL
UNION ALL
SELECT entry_no, 2, place, expectation_id FROM shared_legs
UNION ALL
SELECT entry_no, 1, 0, request_id FROM request_amounts
UNION ALL
SELECT entry_no, 1, place, source_id FROM other_sources
