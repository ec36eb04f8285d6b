-- Tier 2: codes that appear only across a space or line break inside one field: two to four neighbouring
-- words that together are a code. Other punctuation stands as a word of its own ("|") and so never joins.
SELECT DISTINCT w.entry_id, c.expectation_id, c.code
FROM (
    SELECT
        entry_id,
        CASE span
            WHEN 2 THEN split_part(text, ' ', i) || split_part(text, ' ', i + 1)
            WHEN 3 THEN split_part(text, ' ', i) || split_part(text, ' ', i + 1) || split_part(text, ' ', i + 2)
            ELSE split_part(text, ' ', i) || split_part(text, ' ', i + 1) || split_part(text, ' ', i + 2)
                || split_part(text, ' ', i + 3)
        END AS form
    FROM (
        SELECT
            *,
            unnest(generate_series(
                CAST(1 AS BIGINT), CAST(length(text) - length(replace(text, ' ', '')) AS BIGINT)
            )) AS i
        FROM (
            SELECT
                f.entry_id,
                trim(regexp_replace(regexp_replace(regexp_replace(
                    f.text, '[^\p{L}\p{N}\s./-]+', ' | ', 'g'), '[./-]+', '', 'g'), '\s+', ' ', 'g')) AS text
            FROM fields AS f
            JOIN unplaced AS u ON u.entry_id = f.entry_id
        ) AS plain
    ) AS placed
    CROSS JOIN (SELECT 2 AS span UNION ALL SELECT 3 AS span UNION ALL SELECT 4 AS span) AS spans
) AS w
JOIN codes AS c ON c.code = w.form
