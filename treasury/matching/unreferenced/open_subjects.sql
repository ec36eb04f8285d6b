-- One row per pair of a subject in `payer_facts` and an open expectation of this subject. `place` numbers a
-- subject's expectations in a currency and direction, and `turn` the expectations among them with the same
-- remaining amount. The last opened comes first.
SELECT
    subject, expectation_id, currency, direction, remaining, opened_on,
    row_number() OVER (
        PARTITION BY subject, currency, direction, remaining
        ORDER BY coalesce(opened_on, CAST('0001-01-01' AS DATE)) DESC, expectation_id
    ) AS turn,
    row_number() OVER (
        PARTITION BY subject, currency, direction
        ORDER BY coalesce(opened_on, CAST('0001-01-01' AS DATE)) DESC, expectation_id
    ) AS place
FROM (
    SELECT s.subject, o.expectation_id, o.currency, o.direction, o.remaining, o.opened_on
    FROM open_expectations AS o
    JOIN (SELECT DISTINCT subject FROM payer_facts) AS s ON s.subject = 'E:' || o.expectation_id
    UNION ALL
    SELECT s.subject, o.expectation_id, o.currency, o.direction, o.remaining, o.opened_on
    FROM open_expectations AS o
    JOIN (SELECT DISTINCT subject FROM payer_facts) AS s ON s.subject = 'A:' || o.counterparty_account
    UNION ALL
    SELECT s.subject, o.expectation_id, o.currency, o.direction, o.remaining, o.opened_on
    FROM open_expectations AS o
    JOIN folded_names AS n ON n.name = o.counterparty_name
    JOIN (SELECT DISTINCT subject FROM payer_facts) AS s ON s.subject = 'N:' || n.folded
) AS every_subject
