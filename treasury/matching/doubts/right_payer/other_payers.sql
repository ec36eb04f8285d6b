-- Is it the right payer? Credits whose amount does not tell, from an account that is known for one other owner alone
-- while the named expectation is known for another payer; or whose name shares no word with the one expected.
SELECT a.entry_id, a.expectation_id, 'its payer is known for another code' AS why
FROM inexact_pairs AS a
JOIN sole_owners AS o ON o.entry_id = a.entry_id AND o.owner <> a.owner
JOIN (
    SELECT i.owner, min(k.since) AS since
    FROM (SELECT DISTINCT owner FROM inexact_pairs) AS x
    JOIN expectation_owners AS i ON i.owner = x.owner
    JOIN known_payers AS k ON k.expectation_id = i.expectation_id
    WHERE k.is_account
    GROUP BY i.owner
) AS n ON n.owner = a.owner AND n.since < a.booking_date
WHERE a.direction = 'CRDT'
UNION ALL
SELECT inexact.entry_id, inexact.expectation_id, 'its payer has another name' AS why
FROM inexact_pairs AS inexact
JOIN expectations AS expectation ON expectation.expectation_id = inexact.expectation_id
LEFT JOIN (
    SELECT DISTINCT l.entry_id, l.expectation_id
    FROM (
        SELECT DISTINCT p.entry_id, p.expectation_id, w.word
        FROM inexact_pairs AS p JOIN name_words AS w ON w.id = p.entry_id
        WHERE w.is_line
    ) AS l
    JOIN name_words AS e ON e.id = l.expectation_id AND e.word = l.word
    WHERE NOT e.is_line
) AS shared ON shared.entry_id = inexact.entry_id AND shared.expectation_id = inexact.expectation_id
LEFT JOIN known_payers AS known
    ON known.expectation_id = inexact.expectation_id AND known.party = inexact.counterparty_account
        AND known.since < inexact.booking_date
WHERE inexact.direction = 'CRDT' AND expectation.amount IS NOT NULL AND shared.entry_id IS NULL AND known.party IS NULL
    AND inexact.counterparty_name IS NOT NULL AND expectation.counterparty_name IS NOT NULL
