-- One row per ramp request made by the month's end, with its status at the month's end, as far as it is known
-- now. `is_open`: it was open then. `has_ended`: it is not open today. `changed_on` is the day of the last
-- record of its status after the month.
SELECT
    r.id AS request_id,
    coalesce(t.status, r.status) AS status,
    coalesce(t.status, r.status) NOT IN ('SUCCEEDED', 'CANCELLED', 'REJECTED', 'DENIED', 'FAILED') AS is_open,
    r.status AS status_now,
    NOT r.is_open AS has_ended,
    CAST(n.changed_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS changed_on
FROM ramp_requests AS r
CROSS JOIN asked AS a
LEFT JOIN (
    SELECT w.request_id, w.status
    FROM request_status_changes AS w CROSS JOIN asked AS z
    WHERE w.moment < z.month_end
    QUALIFY row_number() OVER (
        PARTITION BY w.request_id ORDER BY w.moment DESC, w.is_record DESC, w.seen_at DESC, w.status
    ) = 1
) AS t ON t.request_id = r.id
LEFT JOIN (
    SELECT w.request_id, max(w.moment) AS changed_at
    FROM request_status_changes AS w CROSS JOIN asked AS z
    WHERE w.moment >= z.month_end
    GROUP BY w.request_id
) AS n ON n.request_id = r.id
WHERE r.created_at < a.month_end
