-- One row per pair of an expectation and a payment that makes its payer known for this expectation, with the
-- payer and the day. Either a person accepted the payment; or it has a whole or structured reference and cannot
-- be read in another way, neither its text nor questions 4 and 6 leave a doubt, and it does not exceed what
-- remains by more than `over_tolerance`.
SELECT provisional.expectation_id, line.party, line.counterparty_account IS NOT NULL AS is_account,
    provisional.booking_date AS since
FROM provisional_pairs AS provisional
JOIN line_parties AS line ON line.entry_id = provisional.entry_id AND line.party IS NOT NULL
LEFT JOIN (SELECT DISTINCT entry_id FROM slip_candidates) AS slip ON slip.entry_id = provisional.entry_id
LEFT JOIN (SELECT DISTINCT entry_id FROM unlikely_references) AS unlikely_line
    ON unlikely_line.entry_id = provisional.entry_id
LEFT JOIN (SELECT DISTINCT entry_id FROM text_doubts) AS doubt ON doubt.entry_id = provisional.entry_id
WHERE provisional.accepted_reason IS NOT NULL
    OR (slip.entry_id IS NULL AND unlikely_line.entry_id IS NULL AND doubt.entry_id IS NULL
        AND (provisional.expected IS NULL OR provisional.amount <= provisional.expected - provisional.before + (SELECT over_tolerance FROM rules)))
