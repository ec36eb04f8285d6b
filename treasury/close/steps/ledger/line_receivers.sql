-- One row per line of $ids, with the account it was sent to.
SELECT entry_id, counterparty_account AS account FROM statement_entries
WHERE entry_id IN (SELECT unnest($ids))
