-- One row per expectation of either month end, with its amount (`amount_before`, `amount`) and its open amount
-- (`opening`, `closing`) at the first and at the second. The next amounts are changes in between: `came` is money of
-- lines that pay it only at the second month end, and `gone` is the amount by which its earlier lines now pay less.
-- `back` is returned money; `cancelled` and `blocked` are the changes of the cancelled and the blocked amount.
-- `standing_blocked` is the amount that is blocked at the second month end.
SELECT
    coalesce(a.expectation_id, b.expectation_id) AS expectation_id,
    CASE WHEN a.expectation_id IS NULL THEN b.code ELSE a.code END AS code,
    coalesce(a.kind, b.kind) AS kind,
    CASE WHEN a.expectation_id IS NULL THEN b.currency ELSE a.currency END AS currency,
    coalesce(a.amount, CAST(0 AS DECIMAL(38, 18))) AS amount,
    coalesce(b.amount, CAST(0 AS DECIMAL(38, 18))) AS amount_before,
    b.expectation_id IS NULL AS is_new,
    a.expectation_id IS NOT NULL AS is_there,
    coalesce(b.open, CAST(0 AS DECIMAL(38, 18))) AS opening,
    coalesce(a.open, CAST(0 AS DECIMAL(38, 18))) AS closing,
    coalesce(m.came, CAST(0 AS DECIMAL(38, 18))) AS came,
    coalesce(m.gone, CAST(0 AS DECIMAL(38, 18))) AS gone,
    greatest(CAST(coalesce(a.back, 0) - coalesce(b.back, 0) AS DECIMAL(38, 18)), CAST(0 AS DECIMAL(38, 18))) AS back,
    CAST(CASE WHEN a.cancelled THEN a.amount - coalesce(m.last, 0) ELSE 0 END
        - CASE WHEN b.cancelled THEN b.amount - coalesce(m.first, 0) ELSE 0 END AS DECIMAL(38, 18)) AS cancelled,
    CAST(CASE WHEN a.blocked THEN a.amount - coalesce(m.last, 0) ELSE 0 END
        - CASE WHEN b.blocked THEN b.amount - coalesce(m.first, 0) ELSE 0 END AS DECIMAL(38, 18)) AS blocked,
    CAST(CASE WHEN a.blocked THEN a.amount - coalesce(m.last, 0) ELSE 0 END AS DECIMAL(38, 18)) AS standing_blocked
FROM opening_positions AS b
FULL JOIN closing_positions AS a ON a.expectation_id = b.expectation_id
LEFT JOIN moved_shares AS m ON m.expectation_id = coalesce(a.expectation_id, b.expectation_id)
