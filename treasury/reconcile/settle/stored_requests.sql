-- Every stored request, beside the family in which it is settled, where it is.
SELECT r.id, r.valid_from, s.family, s.close
FROM ramp_requests AS r
LEFT JOIN settled_requests AS s ON s.expectation_id = r.id
