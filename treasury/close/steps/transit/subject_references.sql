-- The payment references of the subjects that are requests, one row each. Not stored.
SELECT r.id, r.payment_reference AS reference
FROM ramp_requests AS r JOIN subjects AS s ON s.subject_id = r.id
