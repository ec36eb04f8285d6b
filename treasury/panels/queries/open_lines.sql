-- One row per booked bank line that needs a person, with the codes of the expectation in its outcome
-- (`suggestion`) and of the next best one (`runner_up`), and the number of its candidates. The parameter is
-- the list of outcomes that need a person.
SELECT b.entry_id, b.booking_date, b.statement_account, b.account, b.direction, b.amount,
    b.currency, b.counterparty_name, b.counterparty_account, b.end_to_end_id, b.creditor_reference,
    b.remittance, b.file_name, b.position, o.outcome, o.reason, o.expectation_id,
    e.code AS suggestion, o.margin, r.code AS runner_up, c.candidates, c.group_id, d.assigned_to
FROM outcomes AS o
JOIN bank_lines AS b USING (entry_id)
LEFT JOIN expectations AS e ON e.expectation_id = o.expectation_id
LEFT JOIN expectations AS r ON r.expectation_id = o.runner_up_id
LEFT JOIN (SELECT entry_id, count(*) AS candidates, max(group_id) AS group_id FROM candidates
    GROUP BY entry_id) AS c ON c.entry_id = o.entry_id
LEFT JOIN (SELECT entry_id, max("to") AS assigned_to FROM decisions WHERE verb = 'assign'
    GROUP BY entry_id) AS d ON d.entry_id = o.entry_id
WHERE o.outcome IN (SELECT unnest(?)) AND coalesce(b.entry_status, 'BOOK') = 'BOOK'
