-- One row per line whose shares count towards one or several expectations, with its expectation if it is a single one.
SELECT
    entry_id,
    CASE WHEN count(*) = 1 THEN min(expectation_id) END AS expectation_id,
    max(tier) AS tier,
    CAST(sum(amount) AS DECIMAL(38, 18)) AS matched_amount
FROM further_shares
GROUP BY entry_id
