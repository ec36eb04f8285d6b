-- Booked lines that the bank marks as a return or reversal, or that a person accepted as money coming back,
-- with the reference of the line they bring back where they state one.
SELECT
    m.entry_id, m.account, m.currency, m.direction, m.amount, m.booking_date, m.return_reason,
    m.counterparty_account, m.counterparty_name, m.charges,
    CASE WHEN regexp_replace(m.reference, '[^\p{L}\p{N}]+', '', 'g') NOT IN (SELECT placeholder FROM placeholders)
        THEN m.reference END AS reference
FROM (
    SELECT *, upper(trim(coalesce(original_reference, end_to_end_id, ''))) AS reference
    FROM lines
    WHERE (is_reversal OR return_reason IS NOT NULL
        OR entry_id IN (SELECT entry_id FROM accepted WHERE brings_back))
        AND line_class IS NULL AND coalesce(entry_status, 'BOOK') = 'BOOK'
        AND entry_id NOT IN (SELECT entry_id FROM ignored)
) AS m
