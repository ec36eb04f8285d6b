-- One row per bank line among $ids, with the account that the money was sent to.
SELECT entry_id, counterparty_account AS account FROM statement_entries
WHERE entry_id IN (SELECT unnest($ids))
