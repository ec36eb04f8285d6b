-- One row per uninterrupted period that a record spent in one status. `event_steps` has the statuses from
-- events, `observed_rows` the stored versions of the records, and `commits` the times at which records were
-- observed. Versions are read only for records without rows in `event_steps`.
WITH recorded AS (
    SELECT id, entered_at, coalesce(status, 'not told') AS status, 'events' AS known_from,
        entered_at AS entered_after
    FROM event_steps
), versions AS (
    SELECT id, coalesce(status, 'none') AS status, 'observation' AS known_from,
        valid_from, created,
        row_number() OVER (PARTITION BY id ORDER BY valid_from) = 1 AS is_first
    FROM observed_rows ANTI JOIN recorded USING (id)
), observations AS (
    SELECT "at", lag("at") OVER (ORDER BY "at") AS before FROM commits
), observed AS (
    SELECT id, valid_from AS entered_at, status, known_from,
        CASE WHEN is_first THEN greatest(created, o.before) ELSE o.before END
            AS entered_after
    FROM versions LEFT JOIN observations o ON o."at" = versions.valid_from
), steps AS (
    SELECT *, status IS DISTINCT FROM lag(status) OVER record AS moves
    FROM (FROM recorded UNION ALL BY NAME FROM observed)
    WINDOW record AS (PARTITION BY id ORDER BY entered_at)
)
SELECT * EXCLUDE (moves), lead(entered_at) OVER record AS left_at,
    lead(entered_after) OVER record AS left_after
FROM steps WHERE moves
WINDOW record AS (PARTITION BY id ORDER BY entered_at)
