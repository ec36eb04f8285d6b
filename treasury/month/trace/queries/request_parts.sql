-- One row for each booked bank line with a given request in its outcome, and one for each transfer with the
-- request's transaction hash.
SELECT kind, id FROM (SELECT 'line' AS kind, l.entry_id AS id FROM every_line AS l
    WHERE l.expectation_id = ? UNION ALL SELECT 'transfer' AS kind, t.id FROM transfers AS t
    JOIN ramp_requests AS r ON r.id = ?
    AND lower(r.blockchain_transaction_hash) = lower(t.transaction_hash)) AS own
