-- One row per decision about a line, with the decision as one text. The text is compared with that of the day
-- on which months were settled.
SELECT entry_id, concat_ws('|', verdict, expectation_id, CAST(share AS VARCHAR), reason) AS terms
FROM decisions
