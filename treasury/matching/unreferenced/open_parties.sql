-- One row per account (`A:`) and one per folded name (`N:`) of the counterparties of open expectations.
SELECT DISTINCT subject
FROM (
    SELECT 'A:' || counterparty_account AS subject FROM open_expectations WHERE counterparty_account IS NOT NULL
    UNION ALL
    SELECT 'N:' || n.folded AS subject
    FROM open_expectations AS o
    JOIN folded_names AS n ON n.name = o.counterparty_name
) AS parties
