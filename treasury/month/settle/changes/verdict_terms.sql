-- One row per decision about a line, as one text, which is compared with the text at settlement.
SELECT entry_id, concat_ws('|', verdict, expectation_id, CAST(share AS VARCHAR), reason) AS terms
FROM decisions
