-- Tier 6, proved: one code that several expectations share, and a line that is exactly what all of them still
-- expect together. Two different codes never settle a line, even where their amounts add up.
SELECT p.entry_id, p.expectation_id, p.booking_date, p.expected, s.remaining AS amount
FROM (
    SELECT p.entry_id
    FROM pairs AS p
    JOIN crowded AS n ON n.entry_id = p.entry_id
    LEFT JOIN open_expectations AS s ON s.expectation_id = p.expectation_id
    WHERE n.code = n.other_code AND n.viable > 1 AND n.viable = n.named AND p.tier IN (1, 3) AND p.proves
        AND p.entry_id NOT IN (SELECT entry_id FROM doubted)
        AND p.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict IN ('accept', 'ignore'))
        AND p.entry_id NOT IN (SELECT return_id FROM returns)
        AND p.entry_id NOT IN (SELECT entry_id FROM came_back)
    GROUP BY p.entry_id, p.code, p.amount, p.booking_date
    HAVING count(*) = count(s.remaining) AND sum(s.remaining) = p.amount
    QUALIFY row_number() OVER (PARTITION BY p.code ORDER BY p.booking_date, p.entry_id) = 1
) AS whole
JOIN pairs AS p ON p.entry_id = whole.entry_id AND p.tier IN (1, 3)
JOIN open_expectations AS s ON s.expectation_id = p.expectation_id
WHERE p.expectation_id NOT IN (SELECT expectation_id FROM accepted_several)
