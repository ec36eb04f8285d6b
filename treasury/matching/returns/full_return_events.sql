-- One row per line that a return of the same amount may bring back (`step` 1), and one row per such return
-- (`step` -1). A running sum of `step` counts the lines that are not returned yet. If returns find a line by
-- different references or expectations, the line has a row for each of these. Returns that fit lines of several
-- expectations or payers, or that raise a doubt (`is_doubtful`), are excluded.
SELECT DISTINCT
    v.account, v.currency, v.direction, v.amount, v.expectation_id, v.reference, v.party,
    o.entry_id AS id, o.booking_date, 1 AS step, 0 AS strength, CAST(NULL AS VARCHAR) AS return_reason
FROM (
    SELECT DISTINCT group_id, account, currency, direction, amount, expectation_id, reference, party
    FROM return_evidence
    WHERE original_amount = amount
) AS v
JOIN return_origins AS o ON o.group_id = v.group_id
UNION ALL
SELECT DISTINCT
    account, currency, direction, amount, expectation_id, reference, party,
    return_id AS id, booking_date, -1 AS step, strength, return_reason
FROM (
    SELECT *,
        min(expectation_id) OVER (PARTITION BY return_id) = max(expectation_id) OVER (PARTITION BY return_id)
        AND min(party) OVER (PARTITION BY return_id) = max(party) OVER (PARTITION BY return_id)
        AND NOT bool_or(is_doubtful) OVER (PARTITION BY return_id) AS is_clear
    FROM return_evidence
    WHERE original_amount = amount
) AS equal
WHERE is_clear
