-- Two or three lines of one counterparty that pay one request exactly.
SELECT a.expectation_id, a.entry_id AS first_id, b.entry_id AS second_id, CAST(NULL AS VARCHAR) AS third_id
FROM parts_pool AS a
JOIN parts_pool AS b
    ON b.expectation_id = a.expectation_id AND b.account = a.account AND b.party = a.party
    AND b.amount = a.remaining - a.amount
WHERE a.entry_id < b.entry_id
UNION ALL
SELECT a.expectation_id, a.entry_id AS first_id, b.entry_id AS second_id, c.entry_id AS third_id
FROM parts_pool AS a
JOIN parts_pool AS b
    ON b.expectation_id = a.expectation_id AND b.account = a.account AND b.party = a.party
    AND b.entry_id > a.entry_id
JOIN parts_pool AS c
    ON c.expectation_id = b.expectation_id AND c.account = b.account AND c.party = b.party
    AND c.amount = a.remaining - a.amount - b.amount
WHERE b.entry_id < c.entry_id
