-- One row per expectation of either month end, with its roll-forward: opening, movements and closing. Money
-- that was received and returned in between is shown as matched and as reopened, up to the expected amount.
-- Other money that lines no longer give the expectation, and a change to the expected amount, are shown as
-- adjusted.
SELECT
    expectation_id, code, kind, currency, amount,
    opening,
    CASE WHEN is_new THEN amount ELSE CAST(0 AS DECIMAL(38, 18)) END AS new,
    CAST(came + both_ways AS DECIMAL(38, 18)) AS matched,
    CAST(reopened + both_ways AS DECIMAL(38, 18)) AS reopened,
    cancelled,
    blocked,
    CAST(gone - reopened + CASE WHEN is_new THEN 0 ELSE amount - amount_before END AS DECIMAL(38, 18)) AS adjusted,
    closing,
    standing_blocked
FROM (
    SELECT
        *,
        CASE WHEN is_there
            THEN greatest(least(back - reopened, amount - came), CAST(0 AS DECIMAL(38, 18)))
            ELSE CAST(0 AS DECIMAL(38, 18))
        END AS both_ways
    FROM (
        SELECT
            *,
            CASE WHEN is_there
                THEN greatest(least(gone, back), CAST(0 AS DECIMAL(38, 18)))
                ELSE CAST(0 AS DECIMAL(38, 18))
            END AS reopened
        FROM paired_positions
    ) AS with_back
) AS with_reopened
