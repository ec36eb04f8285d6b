-- Every line beside every expectation it names, and what contradicts them, in words; null where nothing does.
SELECT
    r.entry_id,
    r.expectation_id,
    r.code,
    CASE
        WHEN l.direction <> e.direction
            THEN 'direction: ' || l.direction || ', expected ' || e.direction
        WHEN l.currency <> e.currency
            THEN 'currency: ' || l.currency || ', expected ' || e.currency
        WHEN upper(replace(l.account, ' ', '')) <> upper(replace(e.account, ' ', ''))
            THEN 'account: reached ' || l.account || ', the code belongs to ' || e.account
        WHEN upper(replace(l.counterparty_account, ' ', '')) <> upper(replace(e.counterparty_account, ' ', ''))
            THEN 'account: paid to ' || l.counterparty_account || ', expected ' || e.counterparty_account
        WHEN x.status IS NOT NULL
            THEN 'status: ' || e.status
        WHEN CAST(e.closed_at AS DATE) < l.booking_date
            THEN 'closed on ' || CAST(CAST(e.closed_at AS DATE) AS VARCHAR) || ', before this line'
    END AS contradiction
FROM whole_references AS r
JOIN lines AS l ON l.entry_id = r.entry_id
JOIN expectations AS e ON e.expectation_id = r.expectation_id
LEFT JOIN contradicting_statuses AS x
    ON x.status = replace(upper(e.status), '-', '_')
