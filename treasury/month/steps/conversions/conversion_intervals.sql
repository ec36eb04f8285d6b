-- One row per interval between two consecutive observations of an account's balance in a coin, if coins came
-- or went that no known movement explains (`converted`). This amount is closing - opening - known in + known
-- out. The last interval of each balance, and intervals with incomplete observations, are always included. An
-- interval is incomplete if an observation lacks the balance of a wallet or has fewer wallets than the one
-- before, or if a movement between them has no amount.
SELECT
    account_id, asset, opened_at, closed_at, opening, closing, known_in, known_out,
    CAST(closing - opening - known_in + known_out AS DECIMAL(38, 18)) AS converted,
    unread > 0 OR unstated > 0 OR wallets < wallets_before AS is_incomplete
FROM (
    SELECT
        account_id, asset, moment AS closed_at, total AS closing, wallets,
        lag(moment) OVER seen AS opened_at,
        lag(total) OVER seen AS opening,
        lag(wallets) OVER seen AS wallets_before,
        unread + lag(unread) OVER seen AS unread,
        CAST(known_in - lag(known_in) OVER seen AS DECIMAL(38, 18)) AS known_in,
        CAST(known_out - lag(known_out) OVER seen AS DECIMAL(38, 18)) AS known_out,
        unstated - lag(unstated) OVER seen AS unstated,
        lead(moment) OVER seen IS NULL AS is_last
    FROM balance_levels
    WHERE is_observed = 1
    WINDOW seen AS (PARTITION BY account_id, asset ORDER BY moment)
) AS intervals
WHERE opened_at IS NOT NULL
    AND (is_last OR closing - opening - known_in + known_out <> 0 OR unread > 0 OR unstated > 0 OR wallets < wallets_before)
ORDER BY account_id, asset, closed_at
