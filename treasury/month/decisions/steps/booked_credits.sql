-- One row per line of $ids that is a credit.
SELECT entry_id FROM statement_entries
WHERE direction = 'CRDT' AND entry_id IN (SELECT unnest($ids))
