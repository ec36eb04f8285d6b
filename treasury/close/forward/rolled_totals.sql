-- One row per kind of expectation and currency, with the sums of `rolled_requests`, and the numbers of
-- expectations that are open at the first month end, open at the second, and blocked.
SELECT
    kind, currency,
    count(*) FILTER (WHERE opening <> 0) AS opening_items,
    CAST(sum(opening) AS DECIMAL(38, 18)) AS opening,
    CAST(sum(new) AS DECIMAL(38, 18)) AS new,
    CAST(sum(matched) AS DECIMAL(38, 18)) AS matched,
    CAST(sum(reopened) AS DECIMAL(38, 18)) AS reopened,
    CAST(sum(cancelled) AS DECIMAL(38, 18)) AS cancelled,
    CAST(sum(blocked) AS DECIMAL(38, 18)) AS blocked,
    CAST(sum(adjusted) AS DECIMAL(38, 18)) AS adjusted,
    CAST(sum(closing) AS DECIMAL(38, 18)) AS closing,
    count(*) FILTER (WHERE closing <> 0) AS closing_items,
    count(*) FILTER (WHERE standing_blocked <> 0) AS blocked_items,
    CAST(sum(standing_blocked) AS DECIMAL(38, 18)) AS standing_blocked
FROM rolled_requests
GROUP BY kind, currency
