-- One row per line and expectation that a person accepted for each other, and per debit of a payment file and
-- its payment order. Unbooked lines and lines of a class (such as bank charges) are left out. If the line has
-- another currency or direction than the expectation, the decision settles the line, but the expectation does
-- not receive the money (`counts` is false). If only the direction differs, the line returns the expectation's
-- money (`brings_back`).
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
