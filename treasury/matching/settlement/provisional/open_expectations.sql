-- One row per expectation that may still receive money, with the amount that remains after the lines in
-- `received_totals`, or null if it accepts any amount. Expectations with a closed status (`closed_statuses`) are
-- excluded. Those with a closing day are included; later steps compare it with the day of the line. `tie` is
-- explained in `known_counterparties`. `turn` numbers the expectations that have the same kind, account,
-- currency, direction, remaining amount and opening day.
SELECT
    expectation.expectation_id, expectation.kind, expectation.account, expectation.currency, expectation.direction,
        expectation.amount AS expected,
    coalesce(expectation.account, CASE WHEN expectation.amount IS NULL THEN expectation.expectation_id END, '') AS tie,
    expectation.counterparty_account, expectation.counterparty_name,
    CAST(expectation.opened_at AS DATE) AS opened_on,
    CAST(expectation.closed_at AS DATE) AS closed_on,
    CAST(expectation.amount - coalesce(partial_total.received, 0) AS DECIMAL(38, 18)) AS remaining,
    row_number() OVER (
        PARTITION BY expectation.kind, expectation.account, expectation.currency, expectation.direction,
            expectation.amount - coalesce(partial_total.received, 0), CAST(expectation.opened_at AS DATE)
        ORDER BY expectation.expectation_id
    ) AS turn
FROM expectations AS expectation
ANTI JOIN (SELECT expectation_id FROM received_totals WHERE received >= expected) AS full_expectation
    ON full_expectation.expectation_id = expectation.expectation_id
LEFT JOIN (
    SELECT expectation_id, received FROM received_totals WHERE expected IS NULL OR received < expected
) AS partial_total ON partial_total.expectation_id = expectation.expectation_id
LEFT JOIN closed_statuses AS closed ON closed.status = expectation.status
WHERE closed.status IS NULL AND (expectation.amount IS NULL OR expectation.amount > coalesce(partial_total.received, 0))
