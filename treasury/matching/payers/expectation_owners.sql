-- This step is a view: its rows are not stored.
-- One row per expectation, with its owner. An expectation without an owner counts as its own owner.
SELECT expectation_id, coalesce(owner, expectation_id) AS owner
FROM expectations
