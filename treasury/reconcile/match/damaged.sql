-- Tier 4: tokens that are nearly a code: O for 0 or I for 1, one character off or moved, cut off at the end, or
-- the code inside a longer token. Each way is an equality join over generated forms, so that the cost
-- grows with the text and not with lines times codes.
WITH loose AS (
    SELECT DISTINCT t.entry_id, regexp_replace(t.token, '[./-]+', '', 'g') AS form
    FROM tokens AS t
    JOIN unplaced AS u ON u.entry_id = t.entry_id
),
likely AS (
    SELECT entry_id, form
    FROM loose
    WHERE length(form) >= (SELECT min_damaged FROM rules) AND regexp_matches(form, '[0-9]')
),
short_of_one AS (
    SELECT DISTINCT expectation_id, code, substr(code, 1, p - 1) || substr(code, p + 1) AS variant
    FROM (
        SELECT *, unnest(generate_series(CAST(1 AS BIGINT), CAST(length(code) AS BIGINT))) AS p
        FROM codes
    ) AS positions
),
token_short_of_one AS (
    SELECT DISTINCT entry_id, form, substr(form, 1, p - 1) || substr(form, p + 1) AS variant
    FROM (
        SELECT *, unnest(generate_series(CAST(1 AS BIGINT), CAST(length(form) AS BIGINT))) AS p
        FROM likely
    ) AS positions
)
SELECT entry_id, expectation_id, code, min(damage) AS damage
FROM (
    SELECT l.entry_id, c.expectation_id, c.code, '1 looks alike (O/0, I/1)' AS damage
    FROM likely AS l
    JOIN codes AS c ON translate(c.code, 'OIL', '011') = translate(l.form, 'OIL', '011')
    UNION ALL
    SELECT s.entry_id, c.expectation_id, c.code, '2 inside a longer word' AS damage
    FROM (
        SELECT entry_id, substr(form, p, size) AS form
        FROM (
            SELECT
                l.entry_id, l.form, n.size,
                unnest(generate_series(CAST(1 AS BIGINT), CAST(length(l.form) - n.size + 1 AS BIGINT))) AS p
            FROM likely AS l
            JOIN (SELECT DISTINCT length(code) AS size FROM codes) AS n ON length(l.form) > n.size
        ) AS windows
    ) AS s
    JOIN codes AS c ON c.code = s.form
    WHERE length(c.code) >= (SELECT min_damaged FROM rules)
    UNION ALL
    SELECT l.entry_id, c.expectation_id, c.code, '3 cut off at the end' AS damage
    FROM likely AS l
    JOIN (
        SELECT
            expectation_id, code,
            substr(code, 1, unnest(generate_series(
                CAST(length(code) - 4 AS BIGINT), CAST(length(code) - 1 AS BIGINT)
            ))) AS start
        FROM codes
    ) AS c ON c.start = l.form
    UNION ALL
    SELECT l.entry_id, c.expectation_id, c.code, '4 one character off or moved' AS damage
    FROM likely AS l
    JOIN short_of_one AS c ON c.variant = l.form
    UNION ALL
    SELECT l.entry_id, c.expectation_id, c.code, '4 one character off or moved' AS damage
    FROM token_short_of_one AS l
    JOIN codes AS c ON c.code = l.variant
    UNION ALL
    SELECT l.entry_id, c.expectation_id, c.code, '4 one character off or moved' AS damage
    FROM token_short_of_one AS l
    JOIN short_of_one AS c ON c.variant = l.variant AND length(c.code) = length(l.form)
) AS ways
GROUP BY entry_id, expectation_id, code
