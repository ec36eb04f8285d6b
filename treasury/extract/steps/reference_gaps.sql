-- Gaps in payment references that are numbered closely, one row each: its first and last number, how many, since when.
-- A series counts from $least numbers on, of which $percent per cent are held. Not stored.
WITH names AS (
    SELECT DISTINCT payment_reference AS name FROM ramp_requests WHERE payment_reference IS NOT NULL
), headed AS (
    SELECT name, regexp_replace(name, '[0-9]+$', '', 'g') AS prefix FROM names
), numbered AS (
    SELECT prefix, length(name) - length(prefix) AS digits,
        CAST(substr(name, length(prefix) + 1) AS BIGINT) AS number
    FROM headed WHERE length(name) - length(prefix) BETWEEN 1 AND 15
), series AS (
    SELECT prefix, digits, count(*) AS held, max(number) - min(number) + 1 AS span
    FROM numbered GROUP BY prefix, digits
), placed AS (
    SELECT prefix, digits, number, lag(number) OVER (PARTITION BY prefix, digits ORDER BY number)
        AS before
    FROM numbered SEMI JOIN (
        FROM series WHERE held >= $least AND held < span
            AND CAST(held AS BIGINT) * 100 >= CAST(span AS BIGINT) * CAST($percent AS BIGINT)
    ) USING (prefix, digits)
)
SELECT prefix || lpad(CAST(before + 1 AS VARCHAR), CAST(digits AS INTEGER), '0') AS first,
    prefix || lpad(CAST(number - 1 AS VARCHAR), CAST(digits AS INTEGER), '0') AS last,
    number - before - 1 AS missing,
    (SELECT min(valid_from) FROM ramp_requests WHERE payment_reference
        = p.prefix || lpad(CAST(p.number AS VARCHAR), CAST(p.digits AS INTEGER), '0')) AS since
FROM placed AS p WHERE number - before > 1 ORDER BY first
