-- One row per pair: a line, and another open expectation that its payer may have meant (question 4: is it a slip
-- onto another code?). In the first case, its code is one slip from the code that the line names with an inexact
-- amount. In the second case, it expects exactly the line's amount (alone, or with the stated charges added),
-- and its code is one slip from a text that writes another code in another way. If very many expectations with
-- consecutive codes expect one amount, the first `max_same_code` are enough for a person.
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
