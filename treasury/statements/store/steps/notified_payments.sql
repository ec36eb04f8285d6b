-- One row per incoming row of a report or a CSV export with texts that are copied to another row. It is not written
-- itself, it has texts about its payment, and the written or stored row with the same id has none. A row that only
-- names the counterparty gives its texts only to a row without a counterparty.
WITH wordless AS (
    FROM chosen_wordless
    UNION ALL
    FROM stored_wordless WHERE entry_id NOT IN (SELECT entry_id FROM chosen)
), worded AS (
    SELECT place, entry_id, has_words FROM came SEMI JOIN reports USING (statement_id) WHERE NOT is_bare
    UNION ALL
    SELECT place, entry_id, has_words FROM exported_texts
)
SELECT DISTINCT c.place, c.entry_id
FROM worded AS c JOIN wordless AS w USING (entry_id)
WHERE (c.has_words OR w.is_bare) AND c.place NOT IN (SELECT place FROM chosen)
