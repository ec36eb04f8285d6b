-- Expectations that several lines belong to provisionally.
SELECT DISTINCT expectation_id
FROM provisional
WHERE before > 0
