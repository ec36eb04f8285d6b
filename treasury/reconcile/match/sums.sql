-- Sums without a reference, each as the lines and requests in it, with how many ways there are to the sum.
SELECT entry_id, expectation_id, min(what) AS what, count(*) AS ways
FROM (
    SELECT entry_id, first_id AS expectation_id, 'one payment for several' AS what FROM one_for_several
    UNION ALL
    SELECT entry_id, second_id AS expectation_id, 'one payment for several' AS what FROM one_for_several
    UNION ALL
    SELECT entry_id, third_id AS expectation_id, 'one payment for several' AS what FROM one_for_several WHERE third_id IS NOT NULL
    UNION ALL
    SELECT first_id AS entry_id, expectation_id, 'one of several payments' AS what FROM several_for_one
    UNION ALL
    SELECT second_id AS entry_id, expectation_id, 'one of several payments' AS what FROM several_for_one
    UNION ALL
    SELECT third_id AS entry_id, expectation_id, 'one of several payments' AS what FROM several_for_one WHERE third_id IS NOT NULL
) AS parts
GROUP BY entry_id, expectation_id
