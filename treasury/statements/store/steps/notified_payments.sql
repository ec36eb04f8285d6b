-- A row of a report that came and is not written, but states texts of a payment which the row written or stored
-- with its id states none of. Not stored.
SELECT c.place, c.entry_id
FROM came AS c
SEMI JOIN reports AS r ON r.statement_id = c.statement_id
WHERE NOT c.is_bare AND c.place NOT IN (SELECT place FROM chosen)
    AND (c.entry_id IN (SELECT entry_id FROM bare_chosen)
        OR c.entry_id IN (SELECT entry_id FROM stored_bare WHERE entry_id NOT IN (SELECT entry_id FROM chosen)))
