-- One row per line in `further_shares`, with its expectation (null if there are several), its tier, and the
-- proof that the tier needs.
SELECT line.entry_id, line.expectation_id, tier.name AS tier, tier.needs, line.matched_amount
FROM (
    SELECT
        entry_id,
        CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
        max(given_by) AS given_by,
        CAST(sum(amount) AS DECIMAL(38, 18)) AS matched_amount
    FROM further_shares
    GROUP BY entry_id
) AS line
LEFT JOIN tiers AS tier ON tier.given_by = line.given_by
