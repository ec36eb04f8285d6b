-- One row per group of lines that a return may bring back and that differ only by their day (see
-- `return_origins`). `first_id` is the group's first line, `first_on` and `second_on` are the days of its first
-- and second line, and `payer_letters` are the letters and digits of the payer's name.
SELECT
    group_id, account, currency, direction, amount, payer_account, payer_name,
    regexp_replace(payer_name, '[^\p{L}\p{N}]+', '', 'g') AS payer_letters, reference, expectation_id, is_ambiguous,
    min(booking_date) AS first_on, min(counterparty_name) AS counterparty_name,
    max(CASE WHEN place = 1 THEN entry_id END) AS first_id,
    max(CASE WHEN place = 2 THEN booking_date END) AS second_on
FROM (
    SELECT *, row_number() OVER (PARTITION BY group_id ORDER BY booking_date, entry_id) AS place
    FROM return_origins
) AS placed
WHERE place <= 2
GROUP BY group_id, account, currency, direction, amount, payer_account, payer_name, reference, expectation_id,
    is_ambiguous
