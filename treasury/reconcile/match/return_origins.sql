-- Booked lines that a return may bring back: they have its stated reference or name what it names. Those that nothing
-- tells apart but their days stand in one group, named by its first line. A line of a statement whose proof fails is
-- none of them unless a person says so.
WITH named_by_returns AS (
    SELECT DISTINCT entry_id
    FROM owners
    WHERE expectation_id IN (
        SELECT expectation_id FROM owners WHERE entry_id IN (SELECT entry_id FROM marked)
    )
),
firsts AS (
    SELECT entry_id, min(expectation_id) AS expectation_id FROM owners GROUP BY entry_id
)
SELECT
    *,
    min(entry_id) OVER (
        PARTITION BY account, currency, direction, amount, payer_account, payer_name, reference, expectation_id
    ) AS group_id
FROM (
    SELECT
        o.entry_id, o.account, o.currency, o.direction, o.amount, o.booking_date,
        coalesce(o.counterparty_account, '') AS payer_account,
        upper(replace(coalesce(o.counterparty_name, ''), ' ', '')) AS payer_name,
        upper(trim(coalesce(o.end_to_end_id, ''))) AS reference,
        coalesce(f.expectation_id, '') AS expectation_id
    FROM lines AS o
    LEFT JOIN firsts AS f ON f.entry_id = o.entry_id
    LEFT JOIN named_by_returns AS n ON n.entry_id = o.entry_id
    LEFT JOIN (SELECT DISTINCT reference FROM marked WHERE reference <> '') AS s
        ON s.reference = upper(trim(o.end_to_end_id))
    WHERE (n.entry_id IS NOT NULL OR s.reference IS NOT NULL)
        AND o.line_class IS NULL AND coalesce(o.entry_status, 'BOOK') = 'BOOK'
        AND NOT coalesce(o.is_reversal, FALSE) AND o.return_reason IS NULL
        AND o.entry_id NOT IN (SELECT entry_id FROM ignored)
        AND o.entry_id NOT IN (SELECT entry_id FROM marked)
        AND (coalesce(o.proof, 'none') <> 'fails' OR o.entry_id IN (SELECT entry_id FROM accepted))
) AS candidates
