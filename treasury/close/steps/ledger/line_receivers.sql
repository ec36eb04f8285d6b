-- One row per bank line among $ids, with the counterparty's account, to which the money was sent.
SELECT entry_id, counterparty_account AS account FROM statement_entries
WHERE entry_id IN (SELECT unnest($ids))
