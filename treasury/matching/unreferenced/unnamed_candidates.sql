-- One row per pair of a line without a reference and an expectation that it may belong to. `score` is the sum of
-- the weights of the pair's facts (`ranked_facts.csv`), less a deduction for the days since the request. For
-- each part of the score, such as the amount or the day, only the fact that is worth most counts. `reason` has
-- the texts of these facts. `undated` is the score without the part for the days since the request.
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
    SELECT fact.entry_id, fact.expectation_id, weight.part, weight.weight - fact.less AS worth,
        CASE still_open.direction WHEN 'CRDT' THEN
            weight.received ELSE weight.sent END || coalesce(' ' || fact.detail, '') AS words
    FROM unnamed_facts AS fact
    JOIN unreferenced_pairs AS unreferenced
        ON unreferenced.entry_id = fact.entry_id AND unreferenced.expectation_id = fact.expectation_id
    JOIN open_expectations AS still_open ON still_open.expectation_id = fact.expectation_id
    JOIN fact_weights AS weight ON weight.name = fact.fact
    QUALIFY row_number() OVER (
        PARTITION BY fact.entry_id, fact.expectation_id, weight.part ORDER BY weight.weight - fact.less DESC,
            weight.name, fact.detail
    ) = 1
) AS weightiest
GROUP BY entry_id, expectation_id
