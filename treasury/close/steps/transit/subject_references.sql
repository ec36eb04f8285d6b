-- One row per ramp request in the table `subjects` (records with money in transit), with its payment reference.
SELECT r.id, r.payment_reference AS reference
FROM ramp_requests AS r JOIN subjects AS s ON s.subject_id = r.id
