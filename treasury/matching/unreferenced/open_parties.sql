-- One row per counterparty of open expectations, by account (`A:`) or by folded name (`N:`).
SELECT DISTINCT subject
FROM (
    SELECT 'A:' || counterparty_account AS subject FROM open_expectations WHERE counterparty_account IS NOT NULL
    UNION ALL
    SELECT 'N:' || n.folded AS subject
    FROM open_expectations AS o
    JOIN folded_names AS n ON n.name = o.counterparty_name
) AS parties
