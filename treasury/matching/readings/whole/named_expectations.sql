-- One row per pair of a line and an expectation with a code that the line names in full, as a whole token or as
-- a part of a token. If very many expectations have the code of a whole token (`shared_codes`), up to
-- `max_candidates` of those with the line's amount are included too. Pairs that a person rejected are excluded.
SELECT DISTINCT r.entry_id, r.expectation_id, r.code
FROM (
    SELECT entry_id, expectation_id, code FROM whole_token_codes
    UNION ALL
    SELECT entry_id, expectation_id, code FROM token_segments
    UNION ALL
    SELECT w.entry_id, a.expectation_id, a.code
    FROM (
        SELECT DISTINCT k.entry_id, k.code, t.amount
        FROM (SELECT * FROM whole_token_codes AS w SEMI JOIN shared_codes AS s ON s.code = w.code) AS k
        JOIN line_texts AS t ON t.entry_id = k.entry_id
    ) AS w
    JOIN shared_expectations AS a ON a.code = w.code AND a.amount = w.amount
    WHERE a.place_of_amount <= (SELECT max_candidates FROM rules)
) AS r
LEFT JOIN rejected_pairs AS d
    ON d.entry_id = r.entry_id AND d.expectation_id = r.expectation_id
WHERE d.entry_id IS NULL
