-- One row per gap in a dense series of payment references, with the first and last missing reference, their
-- count, and the time at which the reference after the gap was stored. References with the same prefix and the
-- same number of digits at the end are a series. A series is dense if at least $least of its numbers, and at
-- least $percent per cent of its range, are stored.
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
