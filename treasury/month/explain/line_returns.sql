-- One row per pair of a return and the earlier line that it brings back, if one of the two is the explained
-- line. `clue` names the link: the reference of the original payment, the code of its expectation, or
-- both.
SELECT
    link.return_id, link.original_id, back.booking_date AS returned_on, original.booking_date AS original_date,
    link.amount, original.amount AS original_amount, original.currency, clue.clue
FROM linked_returns AS link
JOIN bank_lines AS back ON back.entry_id = link.return_id
JOIN bank_lines AS original ON original.entry_id = link.original_id
JOIN (
    SELECT
        return_id,
        CASE min(strength)
            WHEN 1 THEN 'the reference of the payment and the code'
            WHEN 2 THEN 'the reference of the payment'
            ELSE 'the code'
        END AS clue
    FROM return_evidence
    GROUP BY return_id
) AS clue ON clue.return_id = link.return_id
CROSS JOIN (SELECT ? AS entry_id) AS explained
WHERE explained.entry_id IN (link.return_id, link.original_id)
ORDER BY back.booking_date, link.return_id
