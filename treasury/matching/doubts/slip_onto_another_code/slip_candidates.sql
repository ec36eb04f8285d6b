-- One row per pair of a line and another expectation that the line's payer may have meant (question 4: is it a
-- slip onto another code?). There are two cases:
-- - The line names a code that its amount does not confirm (`inexact_pairs`), and its amount pays another
--   expectation with a code one slip (typing error) away (`neighbour_codes`).
-- - The line writes a code in another way (`respelled_codes`), and its text nearly equals the code of an
--   expectation for exactly its amount, alone or with the stated charges.
--
-- If there are more than `max_same_code` such expectations, only the first by code are included. They are enough
-- for a person.
SELECT entry_id, expectation_id, code
FROM (
    SELECT *, row_number() OVER (PARTITION BY entry_id ORDER BY code, expectation_id) AS place
    FROM (
        SELECT DISTINCT s.entry_id, s.expectation_id, s.code
        FROM neighbour_codes AS s
        JOIN inexact_pairs AS p ON p.entry_id = s.entry_id AND p.code = s.named
        UNION
        SELECT pair.entry_id, pair.expectation_id, pair.code
        FROM reference_pairs AS pair
        SEMI JOIN respelled_codes AS respelled ON respelled.entry_id = pair.entry_id
        JOIN lines AS line ON line.entry_id = pair.entry_id
        JOIN payable_amounts AS payable ON payable.expectation_id = pair.expectation_id
        LEFT JOIN code_readings AS reading ON reading.entry_id = pair.entry_id AND reading.code = pair.code
        WHERE pair.needs = 'person' AND pair.contradiction IS NULL AND reading.entry_id IS NULL
            AND (payable.amount = pair.amount OR payable.amount = pair.amount + line.charges)
    ) AS either_way
) AS placed
WHERE place <= (SELECT max_same_code FROM rules)
