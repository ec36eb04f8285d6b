-- One row per expectation in `rolled_requests` that has an open amount at one of the two month ends, a movement
-- between them, or a blocked amount.
SELECT *
FROM rolled_requests
WHERE opening <> 0 OR new <> 0 OR matched <> 0 OR reopened <> 0 OR cancelled <> 0 OR blocked <> 0 OR adjusted <> 0
    OR closing <> 0 OR standing_blocked <> 0
