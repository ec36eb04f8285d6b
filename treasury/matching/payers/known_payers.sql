-- One row per pair of an expectation and a payment that makes its payer known for this expectation, with the
-- payer and the day (`since`). `is_account`: the payer is an account, not a name. Either a person accepted the
-- payment, or all of these conditions hold:
-- - The payment has a whole or structured reference, which cannot be read in another way.
-- - The text raises no doubt (`text_doubts`), no other code is a slip away (`slip_candidates`, question 4), and
--   the code is not unlikely (`unlikely_references`, question 6).
-- - The payment does not exceed what remains by more than `over_tolerance`.
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
