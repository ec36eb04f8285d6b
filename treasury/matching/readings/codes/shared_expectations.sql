-- One row per expectation with a code in `shared_codes`. `place` numbers the expectations with the same code,
-- `place_of_amount` those with the same code and amount. Expectations without a closed status
-- (`closed_statuses`) come first, then the order of opening decides.
SELECT
    compared_code.expectation_id, compared_code.code, any_expectation.amount,
    row_number() OVER (
        PARTITION BY compared_code.code ORDER BY CASE WHEN closed.status IS NULL THEN 0 ELSE 1 END,
            any_expectation.opened_at, compared_code.expectation_id
    ) AS place,
    row_number() OVER (
        PARTITION BY compared_code.code, any_expectation.amount
        ORDER BY CASE WHEN closed.status IS NULL THEN 0 ELSE 1 END, any_expectation.opened_at, compared_code.expectation_id
    ) AS place_of_amount
FROM compared_codes AS compared_code
JOIN shared_codes AS shared_code ON shared_code.code = compared_code.code
JOIN (
    SELECT expectation_id, amount, opened_at, status FROM expectations
    UNION ALL
    SELECT expectation_id, amount, opened_at, status FROM settled_requests
) AS any_expectation ON any_expectation.expectation_id = compared_code.expectation_id
LEFT JOIN closed_statuses AS closed ON closed.status = any_expectation.status
