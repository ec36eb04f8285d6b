-- The words that tell names apart, of the lines whose amount does not tell and of the expectations that they name.
SELECT DISTINCT is_line, id, word
FROM (
    SELECT is_line, id, unnest(string_split(regexp_replace(upper(name), '[^\p{L}\p{N}]+', ' ', 'g'), ' ')) AS word
    FROM (
        SELECT TRUE AS is_line, entry_id AS id, counterparty_name AS name FROM inexact_pairs
        UNION ALL
        SELECT FALSE AS is_line, e.expectation_id AS id, e.counterparty_name AS name
        FROM expectations AS e
        WHERE e.expectation_id IN (SELECT expectation_id FROM inexact_pairs)
    ) AS names
    WHERE name IS NOT NULL
) AS every_word
LEFT JOIN legal_forms AS f ON f.form = word
WHERE word <> '' AND f.form IS NULL
