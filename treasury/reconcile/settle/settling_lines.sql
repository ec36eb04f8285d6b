-- The lines booked by the end of the closed months on our own banks' accounts that need nobody any more: other business,
-- closed by a person, matched in full, or money that went and came back. A leg of a transfer of our own only beside the
-- other leg; none whose text is nearly more codes than are looked at, for how many are alike may change.
SELECT
    l.entry_id, b.statement_id, l.account, l.currency, l.direction, l.amount, l.booking_date, l.counterparty_account,
    p.party, p.account IS NOT NULL AS is_account,
    upper(trim(coalesce(l.end_to_end_id, ''))) AS reference,
    CASE WHEN m.entry_id IS NOT NULL THEN upper(trim(coalesce(l.original_reference, l.end_to_end_id, ''))) END AS brings_back,
    g.entry_id IS NOT NULL AS is_leg,
    e.kind,
    CASE WHEN e.expectation_id IS NOT NULL THEN coalesce(e.account, '') END AS tie,
    k.since AS payer_since, r.expectation_id
FROM lines AS l
CROSS JOIN closed_to AS a
JOIN bank_lines AS b ON b.entry_id = l.entry_id
JOIN outcomes AS o ON o.entry_id = l.entry_id
LEFT JOIN (
    SELECT entry_id, CAST(sum(amount) AS DECIMAL(38, 18)) AS amount FROM allocations GROUP BY entry_id
) AS s ON s.entry_id = l.entry_id
LEFT JOIN came_back AS v ON v.entry_id = l.entry_id
LEFT JOIN marked AS m ON m.entry_id = l.entry_id
LEFT JOIN line_parties AS p ON p.entry_id = l.entry_id
LEFT JOIN received AS r ON r.entry_id = l.entry_id
LEFT JOIN expectations AS e ON e.expectation_id = r.expectation_id
LEFT JOIN known_payers AS k
    ON k.expectation_id = r.expectation_id AND k.party = p.party AND k.is_account = (p.account IS NOT NULL)
LEFT JOIN own_legs AS g ON g.entry_id = l.entry_id
LEFT JOIN own_pairs AS w ON w.out_id = l.entry_id
LEFT JOIN own_pairs AS i ON i.in_id = l.entry_id
WHERE b.source = 'own_bank'
    AND coalesce(l.entry_status, 'BOOK') = 'BOOK'
    AND coalesce(l.proof, 'none') <> 'fails'
    AND l.booking_date <= a.month_last AND coalesce(b.value_date <= a.month_last, TRUE)
    AND (
        (o.outcome = 'ignored' AND s.entry_id IS NULL AND m.entry_id IS NULL)
        OR (o.outcome = 'matched' AND s.amount = l.amount AND v.entry_id IS NULL AND m.entry_id IS NULL)
        OR (o.outcome = 'returned' AND s.entry_id IS NULL)
    )
    AND (g.entry_id IS NULL OR w.out_id IS NOT NULL OR i.in_id IS NOT NULL)
    AND (
        l.entry_id IN (SELECT entry_id FROM judged_lines)
        OR l.entry_id NOT IN (
            SELECT s.entry_id
            FROM searched AS s JOIN nearly_codes AS n ON n.form = s.form
            WHERE n.alike > (SELECT max_alike FROM rules)
        )
    )
