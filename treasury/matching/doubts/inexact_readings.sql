-- One row per pair of a line and a code found in its text, if an expectation with this code takes any amount or
-- expects another amount than the line's. Codes of requests that closed months settled, and codes of pairs that
-- a person rejected, are included. Damaged codes are not, nor are readings with `is_damaged` in
-- `other_readings`.
SELECT r.entry_id, r.code, l.amount, l.charges, l.currency, l.direction, l.booking_date
FROM (
    SELECT entry_id, code
    FROM reference_pairs
    WHERE needs <> 'person' AND (expected IS NULL OR expected <> amount)
    UNION
    SELECT o.entry_id, o.code
    FROM (
        SELECT entry_id, expectation_id, code FROM code_readings
        UNION ALL
        SELECT entry_id, expectation_id, code FROM other_readings WHERE NOT is_damaged
    ) AS o
    JOIN (
        SELECT t.expectation_id, t.amount, CAST(NULL AS VARCHAR) AS entry_id FROM settled_requests AS t
        UNION ALL
        SELECT e.expectation_id, e.amount, d.entry_id
        FROM rejected_pairs AS d
        JOIN expectations AS e ON e.expectation_id = d.expectation_id
    ) AS w ON w.expectation_id = o.expectation_id AND coalesce(w.entry_id = o.entry_id, TRUE)
    JOIN lines AS m ON m.entry_id = o.entry_id
    WHERE w.amount IS NULL OR w.amount <> m.amount
) AS r
JOIN lines AS l ON l.entry_id = r.entry_id
