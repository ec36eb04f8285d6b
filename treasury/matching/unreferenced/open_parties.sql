-- One row per counterparty from or for which an open expectation is, by account and by folded name.
SELECT DISTINCT subject
FROM (
    SELECT 'A:' || counterparty_account AS subject FROM open_expectations WHERE counterparty_account IS NOT NULL
    UNION ALL
    SELECT 'N:' || n.folded AS subject
    FROM open_expectations AS o
    JOIN folded_names AS n ON n.name = o.counterparty_name
) AS parties
