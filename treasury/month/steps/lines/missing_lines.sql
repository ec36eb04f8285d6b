-- One row per request completed by the month's end for which the bank shows no line, or less than the whole
-- amount. The missing line is a wire that we must have sent, or a payout that we must have received. If the
-- time of completion is unknown, the time of the last change or of the creation is used.
--
-- A request completed before the month is excluded if its completion is before the days that proved statements
-- cover without a gap (`covered_from`), or if there are no such days. For an on-ramp, all own accounts in its
-- currency must be covered; for an off-ramp, the account of the payout.
SELECT
    r.id AS request_id, r.payment_reference AS reference, r.ramp_type, r.status,
    CAST(r.expected - coalesce(s.received, 0) AS DECIMAL(38, 18)) AS amount,
    s.received AS arrived,
    r.fiat_currency AS currency,
    r.completed_on AS since,
    CASE WHEN r.ramp_type = 'ON_RAMP' THEN v.covered_from ELSE c.covered_from END AS covered_from,
    CASE WHEN r.ramp_type = 'ON_RAMP' THEN v.covered_to ELSE c.covered_to END AS covered_to,
    CASE WHEN r.ramp_type = 'ON_RAMP' THEN v.account ELSE upper(replace(r.company_bank_account_iban, ' ', '')) END AS account,
    r.ramp_type = 'ON_RAMP' OR d.account IS NOT NULL AS is_declared,
    l.maybe_on, l.returned_on, l.contradicted_on
FROM (
    SELECT
        q.*,
        CASE WHEN q.ramp_type = 'ON_RAMP' THEN q.fiat_amount ELSE q.fiat_net_amount END AS expected,
        CAST(coalesce(q.completed_at, q.updated_at, q.created_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS completed_on
    FROM ramp_requests AS q CROSS JOIN asked AS z
    WHERE q.status = 'SUCCEEDED' AND coalesce(q.completed_at, q.updated_at, q.created_at) < z.month_end
) AS r
CROSS JOIN asked AS a
LEFT JOIN request_lines AS l ON l.request_id = r.id
LEFT JOIN grand_totals AS s ON s.expectation_id = r.id
LEFT JOIN evidence_spans AS v ON v.currency = r.fiat_currency
LEFT JOIN covered AS c
    ON c.account = upper(replace(r.company_bank_account_iban, ' ', '')) AND c.currency = r.fiat_currency
LEFT JOIN declared_accounts AS d
    ON d.account = upper(replace(r.company_bank_account_iban, ' ', '')) AND d.source = 'own_bank'
    AND d.currency = r.fiat_currency
WHERE (l.received IS NULL OR s.received < r.expected)
    AND (r.completed_on >= a.month_first
        OR r.completed_on >= CASE WHEN r.ramp_type = 'ON_RAMP' THEN v.covered_from ELSE c.covered_from END)
