-- One row per booked bank line, with its signed amount, the explained part, and the role to which this part is
-- posted (`contra`), such as `collections`. A line that is excluded from matching is explained completely, and
-- so is a returned line with an expectation. Of a matched line, the matched part is explained; of other lines,
-- nothing. If the line pays several expectations (`is_shared`), `shared_legs` has a role per expectation
-- instead.
SELECT
    p.entry_no, p.entry_id, p.booking_date, p.role, p.account, p.currency, p.direction, p.amount, p.contra,
    CASE
        WHEN p.outcome = 'ignored' THEN p.amount
        WHEN NOT p.is_known THEN CAST(0 AS DECIMAL(38, 18))
        WHEN p.matched IS NULL OR p.matched >= p.size THEN p.amount
        WHEN p.amount > 0 THEN p.matched
        ELSE -p.matched
    END AS explained,
    p.expectation_id, p.words,
    s.entry_id IS NOT NULL AS is_shared
FROM (
    SELECT
        l.entry_no, l.entry_id, l.booking_date, l.currency, l.direction, l.outcome,
        l.amount AS size,
        l.matched_amount AS matched,
        CASE WHEN l.source = 'provider_report' THEN 'provider' ELSE 'bank' END AS role,
        l.statement_account AS account,
        CASE WHEN l.direction = 'CRDT' THEN l.amount ELSE -l.amount END AS amount,
        CASE
            WHEN l.outcome = 'ignored' THEN coalesce(c.role, 'other business')
            ELSE coalesce(k.role, 'suspense')
        END AS contra,
        coalesce(l.outcome IN ('matched', 'returned'), FALSE) AND l.kind IS NOT NULL AS is_known,
        nullif(l.expectation_id, '') AS expectation_id,
        CASE WHEN l.outcome = 'matched' AND l.expectation_id IS NULL THEN l.entry_id END AS shared_id,
        concat_ws(
            ' · ',
            nullif(l.counterparty_name, ''),
            coalesce(nullif(l.reference, ''), nullif(l.remittance, ''))
        ) AS words
    FROM booked_lines AS l
    LEFT JOIN contra_roles AS c ON c.what = l.line_class
    LEFT JOIN contra_roles AS k ON k.what = l.kind
) AS p
LEFT JOIN (SELECT DISTINCT entry_id FROM line_shares) AS s ON s.entry_id = p.shared_id
