-- One row per settled line that an unsettled line may bring back, with the settled line's request. (A settled
-- line belongs to a closed month, and matching no longer reads it.) There are two cases:
-- - The unsettled line is marked as a return or accepted by a person, and states the settled line's reference.
--   A placeholder such as NOTPROVIDED is no reference.
-- - The settled line paid a request, and the unsettled line has the same account, currency, amount and
--   counterparty in the other direction. It has the same booking day or follows by at most `window_days`.
SELECT s.entry_id, s.expectation_id
FROM settled_lines AS s
JOIN (
    SELECT DISTINCT upper(trim(coalesce(l.original_reference, l.end_to_end_id, ''))) AS reference
    FROM bank_lines AS l
    WHERE l.is_reversal OR l.return_reason IS NOT NULL
        OR l.entry_id IN (SELECT entry_id FROM decisions WHERE verdict = 'accept')
) AS m ON m.reference = s.reference
WHERE regexp_replace(m.reference, '[^\p{L}\p{N}]+', '', 'g') NOT IN (SELECT placeholder FROM placeholders)
UNION
SELECT s.entry_id, s.expectation_id
FROM (
    SELECT
        account, currency, amount, booking_date,
        CASE direction WHEN 'CRDT' THEN 'DBIT' WHEN 'DBIT' THEN 'CRDT' END AS opposite,
        coalesce(counterparty_account, upper(replace(counterparty_name, ' ', ''))) AS party
    FROM bank_lines
) AS l
CROSS JOIN rules AS u
JOIN settled_lines AS s
    ON s.account = l.account AND s.currency = l.currency AND s.direction = l.opposite AND s.amount = l.amount
    AND s.party = l.party
WHERE s.expectation_id IS NOT NULL
    AND s.booking_date <= l.booking_date AND date_diff('day', s.booking_date, l.booking_date) <= u.window_days
