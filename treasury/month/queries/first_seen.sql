-- One row per bank line among $ids, with the time at which it was first stored.
SELECT entry_id, min(valid_from) AS known_from
FROM (
    SELECT entry_id, valid_from FROM statement_entries
    UNION ALL SELECT entry_id, valid_from FROM statement_entries_history
) AS versions
WHERE entry_id IN (SELECT unnest($ids))
GROUP BY entry_id
