-- One row per instant payment with a value date in the month, if the bank booked it after the month, at the
-- latest on the next business day. The money had already reached or left the account at the month's end, but
-- the bank's closing balance does not show this. Lines with a class are excluded.
SELECT
    l.entry_id, l.statement_account, l.direction, l.amount, l.currency, b.value_date, l.booking_date,
    l.expectation_id, l.reference, l.counterparty_name
FROM every_line AS l
JOIN bank_lines AS b ON b.entry_id = l.entry_id
CROSS JOIN asked AS a
WHERE l.is_instant AND l.line_class IS NULL
    AND b.value_date BETWEEN a.month_first AND a.month_last
    AND l.booking_date > a.month_last AND l.booking_date <= a.next_business_day
ORDER BY b.value_date, l.statement_account, l.entry_id
