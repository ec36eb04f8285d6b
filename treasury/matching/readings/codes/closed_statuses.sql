-- One row per status, as the services write it, in which an expectation receives no more money.
SELECT e.status
FROM (
    SELECT status FROM expectations
    UNION
    SELECT status FROM settled_requests
) AS e
JOIN contradicting_statuses AS x ON x.status = replace(upper(trim(e.status)), '-', '_')
