-- One row per line of $ids, with the time at which it first came into the lake.
SELECT entry_id, min(valid_from) AS known_from
FROM (
    SELECT entry_id, valid_from FROM statement_entries
    UNION ALL SELECT entry_id, valid_from FROM statement_entries_history
) AS versions
WHERE entry_id IN (SELECT unnest($ids))
GROUP BY entry_id
