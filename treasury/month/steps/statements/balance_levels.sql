-- One row for each observation of an account's balance in a coin, and one for each known movement of the coin.
-- Each has the sums of all known movements until then (`known_in`, `known_out`). If an account was created
-- before its first observation in the coin, its creation counts as an observation of zero.
SELECT
    account_id, asset, is_observed, moment, total, wallets, unread,
    CAST(sum(amount_in) OVER earlier AS DECIMAL(38, 18)) AS known_in,
    CAST(sum(amount_out) OVER earlier AS DECIMAL(38, 18)) AS known_out,
    sum(unstated) OVER earlier AS unstated
FROM (
    SELECT
        account_id, asset, 1 AS is_observed, observed_at AS moment,
        CAST(sum(total) AS DECIMAL(38, 18)) AS total, count(*) AS wallets, count(*) - count(total) AS unread,
        CAST(0 AS DECIMAL(38, 18)) AS amount_in, CAST(0 AS DECIMAL(38, 18)) AS amount_out, 0 AS unstated
    FROM wallet_balances
    GROUP BY account_id, asset, observed_at
    UNION ALL
    SELECT
        b.account_id, b.asset, 1 AS is_observed, a.created_at AS moment,
        CAST(0 AS DECIMAL(38, 18)) AS total, 0 AS wallets, 0 AS unread,
        CAST(0 AS DECIMAL(38, 18)) AS amount_in, CAST(0 AS DECIMAL(38, 18)) AS amount_out, 0 AS unstated
    FROM (SELECT account_id, asset, min(observed_at) AS first_seen FROM wallet_balances GROUP BY account_id, asset) AS b
    JOIN accounts AS a ON a.id = b.account_id
    WHERE a.created_at < b.first_seen
    UNION ALL
    SELECT
        account_id, asset, 0 AS is_observed, moment,
        CAST(NULL AS DECIMAL(38, 18)) AS total, 0 AS wallets, 0 AS unread,
        coalesce(amount_in, CAST(0 AS DECIMAL(38, 18))) AS amount_in,
        coalesce(amount_out, CAST(0 AS DECIMAL(38, 18))) AS amount_out,
        CASE WHEN amount_in IS NULL OR amount_out IS NULL THEN 1 ELSE 0 END AS unstated
    FROM wallet_moves
) AS moments
WINDOW earlier AS (
    PARTITION BY account_id, asset ORDER BY moment, is_observed ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
)
