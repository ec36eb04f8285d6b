-- One row per line that the bank marks as a return or reversal, with the reason for the outcome "unreferenced":
-- why no earlier line is linked to it. The reason is used only if no other outcome applies.
SELECT
    line.entry_id,
    CASE
        WHEN line.proof = 'fails' THEN 'a return on a statement that is not proved'
        WHEN excess.entry_id IS NOT NULL
            THEN 'a return of more than the payment of its reference, without charges that explain it'
        ELSE 'a return of no line that is known'
    END AS reason
FROM lines AS line
LEFT JOIN excess_returns AS excess ON excess.entry_id = line.entry_id
WHERE line.is_reversal OR line.return_reason IS NOT NULL
