-- One row per combination of a credit, an expectation that it names, and a reason why its payer may be the wrong
-- one (question 5: is it the right payer?). The amount does not confirm the match (see `inexact_pairs`), and one
-- of two conditions holds before the day of the credit:
-- - The payer's account is known to pay for one owner only (see `sole_owners`), who is not the owner of the
--   expectation. Another account is known to pay for the expectation's owner.
-- - The expectation states an amount and a name. The payer's name has no word in common with this name, and the
--   payer's account is not known to pay for the expectation.
SELECT a.entry_id, a.expectation_id, 'its payer is known for another code' AS why
FROM inexact_pairs AS a
JOIN expectation_owners AS w ON w.expectation_id = a.expectation_id
JOIN sole_owners AS o ON o.entry_id = a.entry_id AND o.owner <> w.owner
JOIN lines AS l ON l.entry_id = a.entry_id
JOIN (
    SELECT i.owner, min(k.since) AS since
    FROM (
        SELECT DISTINCT owner
        FROM expectation_owners
        WHERE expectation_id IN (SELECT expectation_id FROM inexact_pairs)
    ) AS x
    JOIN expectation_owners AS i ON i.owner = x.owner
    JOIN known_payers AS k ON k.expectation_id = i.expectation_id
    WHERE k.is_account
    GROUP BY i.owner
) AS n ON n.owner = w.owner AND n.since < l.booking_date
WHERE l.direction = 'CRDT'
UNION ALL
SELECT a.entry_id, a.expectation_id, 'its payer has another name' AS why
FROM inexact_pairs AS a
JOIN lines AS l ON l.entry_id = a.entry_id
JOIN expectations AS e ON e.expectation_id = a.expectation_id
LEFT JOIN (
    SELECT DISTINCT l.entry_id, l.expectation_id
    FROM (
        SELECT DISTINCT p.entry_id, p.expectation_id, w.word
        FROM inexact_pairs AS p JOIN name_words AS w ON w.id = p.entry_id
        WHERE w.is_line
    ) AS l
    JOIN name_words AS e ON e.id = l.expectation_id AND e.word = l.word
    WHERE NOT e.is_line
) AS shared ON shared.entry_id = a.entry_id AND shared.expectation_id = a.expectation_id
LEFT JOIN known_payers AS k
    ON k.expectation_id = a.expectation_id AND k.party = l.counterparty_account AND k.since < l.booking_date
WHERE l.direction = 'CRDT' AND e.amount IS NOT NULL AND shared.entry_id IS NULL AND k.party IS NULL
    AND l.counterparty_name IS NOT NULL AND e.counterparty_name IS NOT NULL
