-- One row per version (statement id and file) of the statements $ids, if the version was ever stored, or if a
-- stored version lists it as a rival (another file with the same statement).
SELECT statement_id, file_sha256 FROM statements_history
WHERE statement_id IN (SELECT unnest($ids)) AND file_sha256 IS NOT NULL
UNION
SELECT statement_id, left(rival, 64) AS file_sha256
FROM (
    SELECT statement_id, unnest(rivals) AS rival FROM statements_history
    WHERE statement_id IN (SELECT unnest($ids)) AND rivals IS NOT NULL
) AS rivals_of_versions
