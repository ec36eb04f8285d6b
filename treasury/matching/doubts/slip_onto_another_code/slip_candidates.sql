-- Is it a slip onto somebody else's code? Other open expectations one slip from the code that a line names while its
-- amount does not tell; and those of exactly its amount one slip from a text that writes another code in another way.
-- In a dense series of one amount the first few are enough for a person.
SELECT entry_id, expectation_id, code
FROM (
    SELECT *, row_number() OVER (PARTITION BY entry_id ORDER BY code, expectation_id) AS place
    FROM (
        SELECT DISTINCT s.entry_id, s.expectation_id, s.code
        FROM neighbour_codes AS s
        JOIN inexact_pairs AS p ON p.entry_id = s.entry_id AND p.code = s.named
        UNION
        SELECT p.entry_id, p.expectation_id, p.code
        FROM reference_pairs AS p
        SEMI JOIN respelled_codes AS r ON r.entry_id = p.entry_id
        JOIN lines AS l ON l.entry_id = p.entry_id
        JOIN payable_amounts AS t ON t.expectation_id = p.expectation_id
        LEFT JOIN code_readings AS o ON o.entry_id = p.entry_id AND o.code = p.code
        WHERE p.tier = 'damaged' AND p.contradiction IS NULL AND o.entry_id IS NULL
            AND (t.amount = p.amount OR t.amount = p.amount + l.charges)
    ) AS either_way
) AS placed
WHERE place <= (SELECT max_same_code FROM rules)
