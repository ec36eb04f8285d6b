-- One row per bank line among $ids, with the counterparty's account. For a debit, the money was sent to this
-- account.
SELECT entry_id, counterparty_account AS account FROM statement_entries
WHERE entry_id IN (SELECT unnest($ids))
