-- One row per version of a record and field that differs from the previous version. If no single field
-- differs, the row is for the whole record. A vanished or returned record has one more row, without a field.
-- A new record has only this row. The table `pairs` has one row per version, together with the previous
-- version.
WITH differing AS (
    SELECT * EXCLUDE (fields, whole),
        CASE WHEN change = 'new' THEN []
            ELSE list_filter(fields, lambda f: f.before IS DISTINCT FROM f.after) END AS changed,
        whole
    FROM pairs
)
SELECT * EXCLUDE (changed, whole), unnest(CASE
    WHEN change IN ('new', 'vanished', 'back') THEN
        list_concat([{'field': NULL::VARCHAR, 'before': NULL, 'after': NULL}], changed)
    WHEN changed = [] THEN [whole] ELSE changed END) AS t
FROM differing
