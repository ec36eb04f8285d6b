-- One row per credit among the bank lines $ids.
SELECT entry_id FROM statement_entries
WHERE direction = 'CRDT' AND entry_id IN (SELECT unnest($ids))
