-- What the whole references of a line amount to: its first and last code, how many expectations they name and
-- how many of those nothing contradicts, the only such one, and otherwise the first contradiction.
SELECT
    entry_id,
    min(code) AS code,
    max(code) AS other_code,
    min(tier) AS tier,
    count(*) AS named,
    count(*) FILTER (WHERE contradiction IS NULL) AS viable,
    min(expectation_id) FILTER (WHERE contradiction IS NULL) AS viable_id,
    min(expectation_id) AS any_id,
    min(contradiction) AS contradiction
FROM pairs
WHERE tier IN (1, 3)
GROUP BY entry_id
