-- The candidates of lines without a reference: what their facts weigh together, of each part the weightiest, and the
-- words of each. `undated`: the same without the days since the request.
SELECT
    entry_id,
    expectation_id,
    CAST(sum(worth) AS DECIMAL(6, 4)) AS score,
    CAST(coalesce(sum(worth) FILTER (WHERE part <> 'request'), 0) AS DECIMAL(6, 4)) AS undated,
    'no reference'
        || coalesce('; ' || max(words) FILTER (WHERE part = 'account'), '')
        || coalesce('; ' || max(words) FILTER (WHERE part = 'name'), '')
        || coalesce('; ' || max(words) FILTER (WHERE part = 'amount'), '')
        || coalesce('; ' || max(words) FILTER (WHERE part = 'day'), '')
        || coalesce('; ' || max(words) FILTER (WHERE part = 'text'), '')
        || coalesce('; ' || max(words) FILTER (WHERE part = 'share'), '')
        || coalesce('; ' || max(words) FILTER (WHERE part = 'request'), '') AS reason
FROM (
    SELECT v.entry_id, v.expectation_id, f.part, f.weight - v.less AS worth,
        CASE o.direction WHEN 'CRDT' THEN f.received ELSE f.sent END || coalesce(' ' || v.detail, '') AS words
    FROM unnamed_facts AS v
    JOIN unreferenced_pairs AS n ON n.entry_id = v.entry_id AND n.expectation_id = v.expectation_id
    JOIN open_expectations AS o ON o.expectation_id = v.expectation_id
    JOIN fact_weights AS f ON f.name = v.fact
    QUALIFY row_number() OVER (
        PARTITION BY v.entry_id, v.expectation_id, f.part ORDER BY f.weight - v.less DESC, f.name, v.detail
    ) = 1
) AS weightiest
GROUP BY entry_id, expectation_id
