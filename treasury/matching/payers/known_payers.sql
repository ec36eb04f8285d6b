-- Who is known for an expectation, and since when: by an accepted decision, or by a whole reference that passed every
-- question about its text and its amount. One who paid several times is there as often.
SELECT v.expectation_id, k.party, k.counterparty_account IS NOT NULL AS is_account, v.booking_date AS since
FROM provisional_pairs AS v
JOIN line_parties AS k ON k.entry_id = v.entry_id AND k.party IS NOT NULL
LEFT JOIN (SELECT DISTINCT entry_id FROM slip_candidates) AS s ON s.entry_id = v.entry_id
LEFT JOIN (SELECT DISTINCT entry_id FROM unlikely_references) AS u ON u.entry_id = v.entry_id
WHERE v.accepted_reason IS NOT NULL
    OR (s.entry_id IS NULL AND u.entry_id IS NULL
        AND (v.expected IS NULL OR v.amount <= v.expected - v.before + (SELECT over_tolerance FROM rules)))
