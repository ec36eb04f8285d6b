-- What people decided about each line, each verdict in one text to be compared.
SELECT entry_id, concat_ws('|', verdict, expectation_id, CAST(share AS VARCHAR), reason) AS terms
FROM decisions
