-- One row per pair of a line without a reference and a request that belong to the same sum: the line pays
-- several requests, or several lines pay the request (`what`). `ways` is the number of combinations that give
-- the sum.
SELECT entry_id, expectation_id, min(what) AS what, CAST(sum(ways) AS BIGINT) AS ways
FROM (
    SELECT entry_id, first_id AS expectation_id, 'one payment for several' AS what, 1 AS ways FROM lines_for_several_requests
    UNION ALL
    SELECT entry_id, second_id AS expectation_id, 'one payment for several' AS what, 1 AS ways FROM lines_for_several_requests
    UNION ALL
    SELECT entry_id, third_id AS expectation_id, 'one payment for several' AS what, 1 AS ways FROM lines_for_several_requests WHERE third_id IS NOT NULL
    UNION ALL
    SELECT entry_id, expectation_id, 'one of several payments' AS what, ways FROM lines_for_one_request
) AS parts
GROUP BY entry_id, expectation_id
