-- One row per line with only one code, which is split or written another way, with the code's expectation, if
-- there is a proof that the code is meant. A split code needs letters or at least ten digits, because words may
-- form a shorter number by chance. There are two kinds of proof:
-- - The line has exactly the amount that the expectation still expects. If this is so for several lines, only
--   the first one counts.
-- - The code is split, the expectation takes any amount, and an earlier line made the payer known for this
--   expectation.
--
-- Lines with a doubt and lines of which money was returned are excluded. Expectations in `joint_shares` are
-- excluded, and so are expectations for an amount in `divided_shares`.
SELECT pair.entry_id, pair.expectation_id, pair.given_by, pair.booking_date, pair.expected, pair.amount
FROM reference_pairs AS pair
JOIN open_expectations AS still_open ON still_open.expectation_id = pair.expectation_id
LEFT JOIN line_parties AS line ON line.entry_id = pair.entry_id
LEFT JOIN (
    SELECT n.expectation_id, n.party, min(n.since) AS since
    FROM known_payers AS n
    SEMI JOIN (
        SELECT expectation_id FROM reference_pairs WHERE needs = 'amount_or_payer' AND expected IS NULL
    ) AS r ON r.expectation_id = n.expectation_id
    GROUP BY n.expectation_id, n.party
) AS earlier_payer ON earlier_payer.expectation_id = pair.expectation_id AND earlier_payer.party = line.party
LEFT JOIN (SELECT DISTINCT expectation_id FROM divided_shares) AS divided_share
    ON divided_share.expectation_id = pair.expectation_id
WHERE pair.contradiction IS NULL AND pair.proves
    AND (pair.needs = 'amount' OR (pair.needs = 'amount_or_payer' AND regexp_matches(pair.code, '[A-Z]|^[0-9]{10,}$')))
    AND pair.entry_id IN (
        SELECT entry_id FROM reference_pairs
        WHERE needs IN ('amount', 'amount_or_payer')
        GROUP BY entry_id HAVING count(*) = 1
    )
    AND pair.entry_id NOT IN (SELECT entry_id FROM line_doubts)
    AND pair.entry_id NOT IN (SELECT entry_id FROM returned_amounts)
    AND (pair.expected IS NULL OR divided_share.expectation_id IS NULL)
    AND pair.expectation_id NOT IN (SELECT expectation_id FROM joint_shares)
    AND (still_open.remaining = pair.amount
        OR (pair.needs = 'amount_or_payer' AND pair.expected IS NULL AND earlier_payer.since < pair.booking_date))
QUALIFY pair.expected IS NULL
    OR row_number() OVER (PARTITION BY pair.expectation_id ORDER BY pair.booking_date, pair.entry_id) = 1
