-- The reference fields of each line, one row a field, in upper case and with one kind of dash. Letters beyond A to Z
-- stay as they are: no other letter may turn into one of a code.
SELECT
    entry_id,
    field,
    CASE
        WHEN bit_length(text) = 8 * CAST(length(text) AS BIGINT) THEN upper(text)
        ELSE translate(text, 'abcdefghijklmnopqrstuvwxyz‐‑‒–—−', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ------')
    END AS text
FROM (
    SELECT entry_id, 'end_to_end_id' AS field, end_to_end_id AS text FROM texts
    UNION ALL
    SELECT entry_id, 'creditor_reference' AS field, creditor_reference AS text FROM texts
    UNION ALL
    SELECT entry_id, 'remittance' AS field, remittance AS text FROM texts
) AS every_field
WHERE text IS NOT NULL
