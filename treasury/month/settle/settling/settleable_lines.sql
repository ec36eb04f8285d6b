-- One row per line that needs no further action, so that later runs of matching need not read it. The line is
-- on one of our own bank accounts, and its booking day and value date are not after the closed months. It is
-- booked, is not marked as a return, is not in `entangled_lines`, and its statement does not fail its proof.
-- There are two cases:
-- - The line pays, with its whole amount, the only expectation that it names.
-- - The line is excluded from matching and names no expectation.
SELECT
    l.entry_id, b.statement_id, l.account, l.currency, l.direction, l.amount, l.booking_date, p.party,
    nullif(upper(trim(l.end_to_end_id)), '') AS reference,
    r.expectation_id
FROM lines AS l
CROSS JOIN closed_to AS a
JOIN bank_lines AS b ON b.entry_id = l.entry_id
JOIN outcomes AS o ON o.entry_id = l.entry_id
LEFT JOIN entangled_lines AS t ON t.entry_id = l.entry_id
LEFT JOIN line_parties AS p ON p.entry_id = l.entry_id
LEFT JOIN received_shares AS r ON r.entry_id = l.entry_id
LEFT JOIN (
    SELECT entry_id, min(expectation_id) AS first_id, max(expectation_id) AS last_id FROM line_subjects GROUP BY entry_id
) AS w ON w.entry_id = l.entry_id
WHERE b.source = 'own_bank' AND t.entry_id IS NULL
    AND coalesce(l.entry_status, 'BOOK') = 'BOOK' AND coalesce(l.proof, 'none') <> 'fails'
    AND NOT coalesce(l.is_reversal, FALSE) AND l.return_reason IS NULL
    AND l.booking_date <= a.month_last AND coalesce(b.value_date <= a.month_last, TRUE)
    AND (
        (o.outcome = 'ignored' AND r.entry_id IS NULL AND w.entry_id IS NULL)
        OR (o.outcome = 'matched' AND r.matched_amount = l.amount
            AND w.first_id = r.expectation_id AND w.last_id = r.expectation_id)
    )
