-- One row per pair of a line and an amount that its payer may have meant to send, if the line does not pay
-- exactly what remains of the request that it names (question 7: does the amount belong to another request?).
-- The amounts are the line's amount, and this amount plus the charges that the line states or the rule
-- `usual_charges` lists. If charges explain why the line differs from what remains of the named request, only
-- the line's own amount is listed.
--
-- Lines that a person accepted are excluded, and so are three other kinds: duplicates, our own debits that state
-- the code in the end-to-end id, and lines of a payer with an accepted payment for the same request.
WITH misses AS (
    SELECT v.entry_id, v.expectation_id, v.code, v.booked AS amount, v.booking_date, l.charges, l.currency, l.direction,
        l.party, l.counterparty_account, l.counterparty_name, CAST(v.expected - v.before - v.amount AS DECIMAL(38, 18)) AS off
    FROM provisional_pairs AS v
    JOIN line_parties AS l ON l.entry_id = v.entry_id
    LEFT JOIN (
        SELECT DISTINCT a.expectation_id, p.party
        FROM accepted_pairs AS a
        JOIN line_parties AS p ON p.entry_id = a.entry_id
    ) AS t ON t.expectation_id = v.expectation_id AND t.party = l.party
    WHERE v.accepted_reason IS NULL AND t.party IS NULL
        AND v.expected - v.before <> v.amount AND (v.before < v.expected OR v.amount <> v.expected)
        AND NOT (l.direction = 'DBIT'
            AND contains(regexp_replace(upper(coalesce(l.end_to_end_id, '')), '[^\p{L}\p{N}]+', '', 'g'), v.code))
),
with_charges AS (
    SELECT *, amount AS asked, CAST(0 AS DECIMAL(38, 18)) AS charge FROM misses
    UNION
    SELECT *, CAST(amount + charges AS DECIMAL(38, 18)) AS asked, charges AS charge FROM misses WHERE charges > 0
    UNION
    SELECT m.*, CAST(m.amount + c.charge AS DECIMAL(38, 18)) AS asked, c.charge FROM misses AS m CROSS JOIN usual_charges AS c
)
SELECT w.entry_id, w.expectation_id, w.code, w.asked AS amount, w.booking_date, w.currency, w.direction, w.party,
    w.counterparty_account, w.counterparty_name
FROM with_charges AS w
LEFT JOIN (SELECT DISTINCT entry_id FROM with_charges WHERE charge > 0 AND off = charge) AS s ON s.entry_id = w.entry_id
WHERE w.charge = 0 OR s.entry_id IS NULL
