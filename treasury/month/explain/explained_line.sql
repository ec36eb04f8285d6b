-- One row: the explained bank line, with its outcome, the code of its expectation, and the person who decided
-- about it. The code and the person may be missing.
SELECT
    line.booking_date, line.entry_status, line.account, line.direction, line.amount, line.currency, line.counterparty_name,
    line.counterparty_account, outcome.outcome, outcome.expectation_id, outcome.reason, outcome.line_class,
    expectation.code AS reference, person.decided_by, person.decided_at
FROM bank_lines AS line
JOIN outcomes AS outcome ON outcome.entry_id = line.entry_id
LEFT JOIN expectations AS expectation ON expectation.expectation_id = outcome.expectation_id
LEFT JOIN line_deciders AS person ON person.entry_id = line.entry_id
WHERE line.entry_id = ?
