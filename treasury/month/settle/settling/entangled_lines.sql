-- One row per line that depends on other lines, so that every run must match it.
--
-- It has several expectations, it is a return or was returned, it is a leg of an own transfer, or it is the first line
-- of an account.
SELECT entry_id FROM marked_returns
UNION
SELECT return_id AS entry_id FROM linked_returns
UNION
SELECT entry_id FROM returned_amounts
UNION
SELECT entry_id FROM return_origins
UNION
SELECT entry_id FROM further_shares
UNION
SELECT l.entry_id
FROM lines AS l
JOIN (SELECT DISTINCT account FROM declared_accounts) AS d ON d.account = l.counterparty_account
UNION
SELECT min(entry_id) AS entry_id FROM lines GROUP BY account
