-- The accounts that the lines $ids were sent to, one row a line. Not stored.
SELECT entry_id, counterparty_account AS account FROM statement_entries
WHERE entry_id IN (SELECT unnest($ids))
