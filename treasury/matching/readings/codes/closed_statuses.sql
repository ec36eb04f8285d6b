-- One row per status in which an expectation receives no more money, such as `cancelled`. The rule
-- `contradicting_statuses` lists these statuses. The status is spelled as the service writes it.
SELECT e.status
FROM (
    SELECT status FROM expectations
    UNION
    SELECT status FROM settled_requests
) AS e
JOIN contradicting_statuses AS x ON x.status = replace(upper(trim(e.status)), '-', '_')
