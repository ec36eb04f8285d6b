-- One row per pair of a line and an expectation, if a person accepted the expectation for the line, or if the
-- line is the debit of a payment file that pays the expectation. Lines that are not booked and lines with a
-- class (such as bank charges) are excluded.
--
-- `counts`: line and expectation have the same currency and direction, so the expectation receives the money. If
-- not, the decision only settles the line. `brings_back`: only the direction differs, so the line returns the
-- expectation's money. `several`: the number of expectations accepted for the line. `share`: the part of the
-- line's amount that the person stated, or null.
SELECT
    d.entry_id,
    d.expectation_id,
    CASE WHEN d.verdict = 'file' THEN d.reason ELSE coalesce('accepted: ' || d.reason, 'accepted') END AS reason,
    l.amount,
    l.booking_date,
    e.amount AS expected,
    l.currency = e.currency AND l.direction = e.direction AS counts,
    l.currency = e.currency AND l.direction <> e.direction AS brings_back,
    count(*) OVER (PARTITION BY d.entry_id) AS several,
    d.share
FROM decisions AS d
JOIN lines AS l ON l.entry_id = d.entry_id
JOIN expectations AS e ON e.expectation_id = d.expectation_id
WHERE d.verdict IN ('accept', 'file') AND l.line_class IS NULL AND coalesce(l.entry_status, 'BOOK') = 'BOOK'
