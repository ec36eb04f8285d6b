-- Each text beside the codes that it nearly is, in every way that matching knows; `alike` counts all of them, as matching
-- does, and `place` numbers them.
SELECT form, expectation_id, code, alike, row_number() OVER (PARTITION BY form ORDER BY code, expectation_id) AS place
FROM (
    SELECT form, expectation_id, code, count(*) OVER (PARTITION BY form) AS alike
    FROM (
        SELECT v.form, c.expectation_id, c.code FROM variants AS v JOIN codes AS c ON c.code = v.variant
        UNION ALL
        SELECT form, expectation_id, code FROM cut_off
        UNION ALL
        SELECT form, expectation_id, code FROM off_tail
        UNION ALL
        SELECT form, expectation_id, code FROM off_head
    ) AS ways
) AS counted
