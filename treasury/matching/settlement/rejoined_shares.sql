-- A rejoined reference, or one that is written another way with exactly its amount, proved: the one code that a line's words join to, with letters in it or ten digits, and either exactly
-- the amount that its expectation still expects (the first such line) or, where it expects none, a payer whom an
-- earlier line made known for this code. Words that merely happen to join to a code meet neither.
SELECT p.entry_id, p.expectation_id, p.tier, p.booking_date, p.expected, p.amount
FROM reference_pairs AS p
JOIN open_expectations AS s ON s.expectation_id = p.expectation_id
LEFT JOIN line_parties AS o ON o.entry_id = p.entry_id
LEFT JOIN (
    SELECT n.expectation_id, n.party, min(n.since) AS since
    FROM known_payers AS n
    SEMI JOIN (
        SELECT expectation_id FROM reference_pairs WHERE tier = 'rejoined' AND expected IS NULL
    ) AS r ON r.expectation_id = n.expectation_id
    GROUP BY n.expectation_id, n.party
) AS k ON k.expectation_id = p.expectation_id AND k.party = o.party
LEFT JOIN (SELECT DISTINCT expectation_id FROM divided_shares) AS a ON a.expectation_id = p.expectation_id
WHERE p.contradiction IS NULL AND p.proves
    AND (p.tier = 'respelled' OR (p.tier = 'rejoined' AND regexp_matches(p.code, '[A-Z]|^[0-9]{10,}$')))
    AND p.entry_id IN (SELECT entry_id FROM reference_pairs WHERE tier IN ('rejoined', 'respelled') GROUP BY entry_id HAVING count(*) = 1)
    AND p.entry_id NOT IN (SELECT entry_id FROM line_doubts)
    AND p.entry_id NOT IN (SELECT entry_id FROM returned_amounts)
    AND (p.expected IS NULL OR a.expectation_id IS NULL)
    AND p.expectation_id NOT IN (SELECT expectation_id FROM joint_shares)
    AND (s.remaining = p.amount OR (p.expected IS NULL AND p.tier = 'rejoined' AND k.since < p.booking_date))
QUALIFY p.expected IS NULL
    OR row_number() OVER (PARTITION BY p.expectation_id ORDER BY p.booking_date, p.entry_id) = 1
