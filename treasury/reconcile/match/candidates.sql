-- read through
-- Every candidate of every line. A line that one reference, or a person, settled alone has just that one.
SELECT entry_id, expectation_id, tier, score, reason, rank, lost
FROM ranked
UNION ALL
SELECT
    entry_id, expectation_id, tier,
    CASE WHEN amount = expected THEN CAST(0.9 AS DECIMAL(6, 4)) ELSE CAST(0.7 AS DECIMAL(6, 4)) END AS score,
    CASE
        WHEN accepted_reason IS NOT NULL THEN accepted_reason
        WHEN amount = expected AND tier = 1 THEN 'whole reference; amount agrees'
        WHEN amount = expected THEN 'structured reference, check digits hold; amount agrees'
        WHEN tier = 1 AND expected IS NULL THEN 'whole reference'
        WHEN tier = 1 THEN 'whole reference; amount differs'
        WHEN expected IS NULL THEN 'structured reference, check digits hold'
        ELSE 'structured reference, check digits hold; amount differs'
    END AS reason,
    1 AS rank,
    CAST(NULL AS VARCHAR) AS lost
FROM received
WHERE rivals = 0
UNION ALL
SELECT entry_id, expectation_id, tier, CAST(0.7 AS DECIMAL(6, 4)) AS score, accepted_reason AS reason,
    row_number() OVER (PARTITION BY entry_id ORDER BY expectation_id) AS rank, CAST(NULL AS VARCHAR) AS lost
FROM further
WHERE accepted_reason IS NOT NULL
