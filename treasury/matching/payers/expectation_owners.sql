-- read through
-- Whom each expectation belongs to; one for which no owner is given is its own.
SELECT expectation_id, coalesce(owner, expectation_id) AS owner
FROM expectations
