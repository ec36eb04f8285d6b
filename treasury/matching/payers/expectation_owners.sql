-- read through as a view, not stored.
-- One row per expectation, with its owner. An expectation without an owner is its own owner.
SELECT expectation_id, coalesce(owner, expectation_id) AS owner
FROM expectations
