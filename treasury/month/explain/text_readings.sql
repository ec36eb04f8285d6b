-- One row per expectation whose code the explained line's text may contain, and per way in which it may contain
-- the code (the tier and, for a damaged code, the damage). The strongest tier comes first. Expectations that a
-- person rejected for the line are excluded.
SELECT
    pair.expectation_id, expectation.code AS reference, tier.words, tier.proves, tier.needs, pair.damage,
    pair.expected, expectation.currency, pair.contradiction
FROM reference_pairs AS pair
JOIN tiers AS tier ON tier.name = pair.tier
JOIN expectations AS expectation ON expectation.expectation_id = pair.expectation_id
WHERE pair.entry_id = ?
ORDER BY tier.rank, pair.score DESC, expectation.code, pair.expectation_id
