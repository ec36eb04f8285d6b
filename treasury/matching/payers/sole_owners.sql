-- One row per line in `inexact_pairs` or `missed_amounts`, if its payer's account was known for exactly one
-- owner before the day of the line. Payments in closed months are included. Only the first two owners of an
-- account are compared, because two already show that there are several.
WITH payments AS (
    SELECT l.entry_id, l.counterparty_account, l.booking_date
    FROM lines AS l
    SEMI JOIN inexact_pairs AS a ON a.entry_id = l.entry_id
    UNION
    SELECT entry_id, counterparty_account, booking_date FROM missed_amounts
),
first_owners AS (
    SELECT party, owner, since
    FROM (
        SELECT k.party, k.owner, min(k.since) AS since
        FROM (
            SELECT p.party, i.owner, p.since
            FROM known_payers AS p
            JOIN expectation_owners AS i ON i.expectation_id = p.expectation_id
            WHERE p.is_account
            UNION ALL
            SELECT party, owner, since FROM settled_payers
        ) AS k
        SEMI JOIN payments AS m ON m.counterparty_account = k.party
        GROUP BY k.party, k.owner
    ) AS owners_of_party
    QUALIFY row_number() OVER (PARTITION BY party ORDER BY since, owner) <= 2
)
SELECT p.entry_id, min(f.owner) AS owner
FROM payments AS p
JOIN first_owners AS f ON f.party = p.counterparty_account AND f.since < p.booking_date
GROUP BY p.entry_id
HAVING min(f.owner) = max(f.owner)
