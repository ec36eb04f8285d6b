-- One row per field that differs between two consecutive versions of a record, and one per new, vanished or
-- returned record. Reads `pairs`, which has one row per version, together with its predecessor.
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
