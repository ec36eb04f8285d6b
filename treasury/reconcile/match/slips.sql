-- Is it a slip onto somebody else's code? Other open expectations one slip from the code that a line names while its
-- amount does not tell. In a dense series of one amount the first few are enough for a person.
SELECT entry_id, expectation_id, code
FROM (
    SELECT *, row_number() OVER (PARTITION BY entry_id ORDER BY code, expectation_id) AS place
    FROM (
        SELECT DISTINCT s.entry_id, s.expectation_id, s.code
        FROM one_slip_away AS s
        JOIN inexact_pairs AS p ON p.entry_id = s.entry_id AND p.code = s.named
    ) AS either_way
) AS placed
WHERE place <= (SELECT max_same_code FROM rules)
