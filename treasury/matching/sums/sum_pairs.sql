-- One row per pair of a line of a known payer (`sum_lines`) and an open request of the same kind and account, if
-- their amounts differ. The line may pay a part of the request, or the request may be one of several that the
-- line pays. The request was opened at most `window_days` before the line and was not closed before it. It does
-- not state another account, ours or the counterparty's.
SELECT payer_line.entry_id, payer_line.account, payer_line.party, payer_line.booking_date, payer_line.amount,
    still_open.expectation_id, still_open.remaining
FROM sum_lines AS sum_line
JOIN known_payer_lines AS payer_line
    ON payer_line.entry_id = sum_line.entry_id AND payer_line.kind = sum_line.kind AND payer_line.tie = sum_line.tie
JOIN open_expectations AS still_open
    ON still_open.kind = payer_line.kind AND still_open.tie = payer_line.tie
        AND still_open.currency = payer_line.currency AND still_open.direction = payer_line.direction
CROSS JOIN rules AS rule
WHERE still_open.remaining IS NOT NULL AND still_open.remaining <> payer_line.amount
    AND still_open.opened_on <= payer_line.booking_date AND date_diff('day', still_open.opened_on,
        payer_line.booking_date) <= rule.window_days
    AND coalesce(still_open.closed_on >= payer_line.booking_date, TRUE)
    AND coalesce(still_open.account = payer_line.account, TRUE)
    AND coalesce(still_open.counterparty_account = payer_line.counterparty_account, TRUE)
