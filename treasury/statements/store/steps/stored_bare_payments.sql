-- One row per stored movement that gets the texts of a row in `notified_payments` and is otherwise unchanged.
SELECT NULL AS place, entry_id, entry_status, is_twin
FROM stored
WHERE entry_id IN (SELECT entry_id FROM notified_payments)
    AND entry_id NOT IN (SELECT entry_id FROM patches UNION ALL SELECT entry_id FROM chosen)
