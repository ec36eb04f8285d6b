-- The expectations whose own movements do not lead from their opening to their closing, and by how much.
SELECT expectation_id, code, currency, off
FROM (
    SELECT
        expectation_id, code, currency,
        CAST(opening + new - matched + reopened - cancelled - blocked + adjusted - closing AS DECIMAL(38, 18)) AS off
    FROM rolled_requests
) AS identity
WHERE off <> 0
