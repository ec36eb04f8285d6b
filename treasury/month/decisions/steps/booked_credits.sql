-- Those of the lines $ids that were booked in, one row each. Not stored.
SELECT entry_id FROM statement_entries
WHERE direction = 'CRDT' AND entry_id IN (SELECT unnest($ids))
