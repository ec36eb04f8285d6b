-- What the whole references of a line amount to: how many different codes, how many expectations that
-- nothing contradicts, the only such one, and otherwise the first contradiction.
SELECT
    entry_id,
    count(DISTINCT code) AS codes,
    count(*) AS named,
    count(*) FILTER (WHERE contradiction IS NULL) AS viable,
    min(expectation_id) FILTER (WHERE contradiction IS NULL) AS viable_id,
    min(expectation_id) AS any_id,
    min(contradiction) AS contradiction
FROM pairs
GROUP BY entry_id
