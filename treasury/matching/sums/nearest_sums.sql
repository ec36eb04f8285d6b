-- One row per line that names several codes by whole or structured references, with a sentence (`nearest`) about
-- the combination of these codes that is nearest to the line's amount, and the difference. A combination has
-- one, two, three or all codes, and is the sum of what remains of their expectations. Expectations that the line
-- contradicts, or that accept any amount, are not combined. Lines that name more than nine expectations are
-- excluded.
WITH named_here AS (
    SELECT pair.entry_id, pair.expectation_id, pair.amount AS booked, still_open.remaining, expectation.code,
        expectation.currency
    FROM reference_pairs AS pair
    JOIN several_reference_lines AS several ON several.entry_id = pair.entry_id
    JOIN open_expectations AS still_open ON still_open.expectation_id = pair.expectation_id
    JOIN expectations AS expectation ON expectation.expectation_id = pair.expectation_id
    WHERE pair.is_whole AND pair.contradiction IS NULL AND still_open.remaining IS NOT NULL
        AND several.code <> several.other_code AND several.named <= 9
),
subsets AS (
    SELECT entry_id, booked, currency, remaining AS together, 1 AS size, code AS codes FROM named_here
    UNION ALL
    SELECT a.entry_id, a.booked, a.currency, CAST(a.remaining + b.remaining AS DECIMAL(38, 18)) AS together, 2 AS size,
        a.code || ' and ' || b.code AS codes
    FROM named_here AS a
    JOIN named_here AS b ON b.entry_id = a.entry_id
    WHERE a.expectation_id < b.expectation_id
    UNION ALL
    SELECT a.entry_id, a.booked, a.currency,
        CAST(a.remaining + b.remaining + c.remaining AS DECIMAL(38, 18)) AS together, 3 AS size,
        a.code || ', ' || b.code || ' and ' || c.code AS codes
    FROM named_here AS a
    JOIN named_here AS b ON b.entry_id = a.entry_id
    JOIN named_here AS c ON c.entry_id = a.entry_id
    WHERE a.expectation_id < b.expectation_id AND b.expectation_id < c.expectation_id
    UNION ALL
    SELECT entry_id, min(booked) AS booked, min(currency) AS currency,
        CAST(sum(remaining) AS DECIMAL(38, 18)) AS together, 4 AS size, 'all of them' AS codes
    FROM named_here
    GROUP BY entry_id
    HAVING count(*) > 3
)
SELECT
    entry_id,
    codes || CASE
        WHEN off = 0 THEN ' would be exactly it'
        WHEN off > 0 THEN ' would leave ' || currency || ' ' || digits || ' over'
        ELSE ' would lack ' || currency || ' ' || digits
    END AS nearest
FROM (
    SELECT *,
        CASE WHEN abs(off) = CAST(abs(off) AS DECIMAL(38, 2)) THEN CAST(CAST(abs(off) AS DECIMAL(38, 2)) AS VARCHAR)
            ELSE rtrim(CAST(abs(off) AS VARCHAR), '0') END AS digits
    FROM (
        SELECT entry_id, codes, currency, CAST(booked - together AS DECIMAL(38, 18)) AS off,
            row_number() OVER (PARTITION BY entry_id ORDER BY abs(booked - together), size, codes) AS place
        FROM subsets
    ) AS ranked_here
    WHERE place = 1
) AS best
