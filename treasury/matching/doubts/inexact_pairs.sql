-- Lines and the expectations that their text names, where the amount does not tell: the expectation takes any, or
-- expects another one.
SELECT pair.entry_id, pair.expectation_id, pair.code, pair.tier, line.amount, line.currency, line.direction,
    line.booking_date,
    line.counterparty_account, line.counterparty_name, owned.owner
FROM reference_pairs AS pair
JOIN lines AS line ON line.entry_id = pair.entry_id
JOIN expectation_owners AS owned ON owned.expectation_id = pair.expectation_id
LEFT JOIN provisional_pairs AS provisional
    ON provisional.entry_id = pair.entry_id AND provisional.expectation_id = pair.expectation_id
LEFT JOIN several_reference_lines AS several ON several.entry_id = pair.entry_id
LEFT JOIN other_readings AS reading ON reading.entry_id = pair.entry_id AND reading.expectation_id = pair.expectation_id
WHERE pair.tier <> 'damaged' AND pair.contradiction IS NULL AND pair.proves AND reading.entry_id IS NULL
    AND coalesce(several.is_single, TRUE)
    AND (pair.expected IS NULL OR (pair.expected <> pair.amount AND pair.expected - coalesce(provisional.before,
        0) <> pair.amount))
