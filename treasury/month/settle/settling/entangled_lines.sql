-- Lines that more than one expectation, a return, a transfer of our own or a place in the list of accounts ties to others:
-- they are matched with every question.
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
