-- One row per pair of a line and a request, if this line and one or two others of the same counterparty pay
-- exactly what remains of the request. `ways` is the number of such combinations. Of lines with the same amount,
-- only the first four are combined. That is enough to distinguish one combination from several, and the result
-- holds for all lines with this amount.
WITH alike AS (
    SELECT entry_id, account, party, amount, expectation_id, remaining,
        row_number() OVER (PARTITION BY expectation_id, account, party, amount ORDER BY entry_id) AS place,
        min(entry_id) OVER (PARTITION BY expectation_id, account, party, amount) AS first_alike
    FROM part_pairs
),
few AS (
    SELECT entry_id, account, party, amount, expectation_id, remaining FROM alike WHERE place <= 4
),
added AS (
    SELECT a.expectation_id, a.entry_id AS first_id, b.entry_id AS second_id, CAST(NULL AS VARCHAR) AS third_id
    FROM few AS a
    JOIN few AS b
        ON b.expectation_id = a.expectation_id AND b.account = a.account AND b.party = a.party
        AND b.amount = a.remaining - a.amount
    WHERE a.entry_id < b.entry_id
    UNION ALL
    SELECT a.expectation_id, a.entry_id AS first_id, b.entry_id AS second_id, c.entry_id AS third_id
    FROM few AS a
    JOIN few AS b
        ON b.expectation_id = a.expectation_id AND b.account = a.account AND b.party = a.party
        AND b.entry_id > a.entry_id
    JOIN few AS c
        ON c.expectation_id = b.expectation_id AND c.account = b.account AND c.party = b.party
        AND c.amount = a.remaining - a.amount - b.amount
    WHERE b.entry_id < c.entry_id
)
SELECT p.entry_id, p.expectation_id, w.ways
FROM alike AS p
JOIN (
    SELECT entry_id, expectation_id, count(*) AS ways
    FROM (
        SELECT first_id AS entry_id, expectation_id FROM added
        UNION ALL
        SELECT second_id AS entry_id, expectation_id FROM added
        UNION ALL
        SELECT third_id AS entry_id, expectation_id FROM added WHERE third_id IS NOT NULL
    ) AS parts
    GROUP BY entry_id, expectation_id
) AS w ON w.entry_id = p.first_alike AND w.expectation_id = p.expectation_id
