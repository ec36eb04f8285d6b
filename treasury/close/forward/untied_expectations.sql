-- One row per expectation in `rolled_requests`, if its opening and movements do not add up to its closing, with
-- the difference (`off`).
SELECT expectation_id, code, currency, off
FROM (
    SELECT
        expectation_id, code, currency,
        CAST(opening + new - matched + reopened - cancelled - blocked + adjusted - closing AS DECIMAL(38, 18)) AS off
    FROM rolled_requests
) AS identity
WHERE off <> 0
