-- One row per expectation that receives money from lines at either of the two month ends, with the totals at both
-- (`first` and `last`). `came` is the total of lines that pay it only at the second month end. `gone` is the
-- total by which its other lines pay less at the second month end than at the first.
SELECT
    expectation_id,
    CAST(sum(first) AS DECIMAL(38, 18)) AS first,
    CAST(sum(last) AS DECIMAL(38, 18)) AS last,
    CAST(sum(CASE WHEN had_share THEN 0 ELSE last END) AS DECIMAL(38, 18)) AS came,
    CAST(sum(CASE WHEN had_share THEN first - last ELSE 0 END) AS DECIMAL(38, 18)) AS gone
FROM (
    SELECT
        coalesce(b.expectation_id, a.expectation_id) AS expectation_id,
        coalesce(b.amount, 0) AS first,
        coalesce(a.amount, 0) AS last,
        b.entry_id IS NOT NULL AS had_share
    FROM opening_shares AS b
    FULL JOIN closing_shares AS a ON a.expectation_id = b.expectation_id AND a.entry_id = b.entry_id
) AS beside
GROUP BY expectation_id
