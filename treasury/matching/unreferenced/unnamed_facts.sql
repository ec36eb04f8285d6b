-- One row per combination of a line without a reference, an expectation that it may belong to, and a fact that
-- supports this. `fact` is a row of `ranked_facts.csv`; `detail` completes the fact's text. `less` is deducted
-- from the fact's weight for the days since the request.
SELECT f.entry_id, o.expectation_id, f.fact, f.detail, CAST(0 AS DECIMAL(6, 4)) AS less
FROM payer_facts AS f
JOIN subject_leads AS o ON o.entry_id = f.entry_id AND o.subject = f.subject
UNION ALL
SELECT entry_id, expectation_id, 'amount_alone' AS fact, CAST(NULL AS VARCHAR) AS detail, CAST(0 AS DECIMAL(6, 4)) AS less
FROM lone_amounts
UNION ALL
SELECT n.entry_id, n.expectation_id, 'rest' AS fact, CAST(NULL AS VARCHAR) AS detail, CAST(0 AS DECIMAL(6, 4)) AS less
FROM unreferenced_pairs AS n
JOIN unplaced_payments AS p ON p.entry_id = n.entry_id
JOIN open_expectations AS e ON e.expectation_id = n.expectation_id
WHERE e.remaining = p.amount AND e.remaining <> e.expected
UNION ALL
SELECT entry_id, expectation_id, 'requested' AS fact,
    CASE days WHEN 0 THEN 'the same day' WHEN 1 THEN 'the day before' ELSE CAST(days AS VARCHAR) || ' days before' END AS detail,
    CAST(CAST(least(days, 40) AS DECIMAL(6, 4)) * CAST(0.002 AS DECIMAL(6, 4)) AS DECIMAL(6, 4)) AS less
FROM unreferenced_pairs
WHERE days IS NOT NULL
UNION ALL
SELECT n.entry_id, n.expectation_id, 'reached' AS fact, CAST(NULL AS VARCHAR) AS detail, CAST(0 AS DECIMAL(6, 4)) AS less
FROM unreferenced_pairs AS n
JOIN open_expectations AS e ON e.expectation_id = n.expectation_id
WHERE n.days IS NULL AND e.account IS NOT NULL AND e.expected IS NULL
