-- Lines whose whole references cannot settle them: two different codes, or nothing but contradicted ones.
SELECT
    entry_id,
    tier,
    CASE WHEN code = other_code THEN any_id END AS expectation_id,
    CASE
        WHEN code = other_code THEN contradiction
        ELSE 'different codes in one text: ' || code || ', ' || other_code
    END AS reason
FROM named
WHERE code <> other_code OR viable = 0
