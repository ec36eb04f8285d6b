-- One row per line that every run of matching must read, even after its month is closed, because other lines
-- depend on it or it depends on them. There are four cases:
-- - The line is a return, or a return may bring it back.
-- - The line pays several expectations, or the reference that matched it is split or written another way.
-- - The counterparty of the line is an account of our own.
-- - The line is the first of its account, by id.
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
