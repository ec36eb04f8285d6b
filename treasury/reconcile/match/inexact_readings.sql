-- Lines and the codes that their text is read as, where the amount does not tell: the expectation takes any, or expects
-- another one.
SELECT r.entry_id, r.code, l.amount, l.charges, l.currency, l.direction, l.booking_date
FROM (
    SELECT entry_id, expectation_id, code FROM read_as
    UNION ALL
    SELECT o.entry_id, o.expectation_id, o.code
    FROM (SELECT DISTINCT entry_id, expectation_id, code FROM other_readings WHERE tier <> 'damaged') AS o
    LEFT JOIN read_as AS n ON n.entry_id = o.entry_id AND n.expectation_id = o.expectation_id AND n.code = o.code
    WHERE n.entry_id IS NULL
) AS r
JOIN lines AS l ON l.entry_id = r.entry_id
JOIN codes AS c ON c.expectation_id = r.expectation_id
WHERE c.amount IS NULL OR c.amount <> l.amount
