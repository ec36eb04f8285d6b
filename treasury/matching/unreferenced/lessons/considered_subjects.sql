-- One row per pair of a payment in `unplaced_payments` and a subject that it may be about: a counterparty, or an
-- expectation (`E:` and its id). A subject is included for one of these reasons:
-- - It is one of the `max_candidates` subjects with the most similar earlier payments of the same payer.
-- - It has rare words in common with the payment (`shared_words`), and is one of the first `max_candidates` such
--   subjects.
-- - It is the counterparty of an open expectation, and the payment states its account or name.
-- - It is an expectation with at least two earlier payments of the same amount to the same account of ours,
--   mostly around this day of the month, and there are at most `max_candidates` such expectations.
SELECT entry_id, subject
FROM (
    SELECT entry_id, subject,
        row_number() OVER (
            PARTITION BY entry_id ORDER BY of_amount DESC, near_amount DESC, around_day DESC, payments DESC, subject
        ) AS place
    FROM (
        SELECT r.entry_id, r.subject,
            count(*) AS payments,
            max(CASE WHEN r.is_amount THEN 1 ELSE 0 END) AS of_amount,
            max(CASE WHEN r.is_near THEN 1 ELSE 0 END) AS near_amount,
            count(*) FILTER (WHERE r.apart <= u.usual_days OR r.apart >= 31 - u.usual_days) AS around_day
        FROM recalled_lessons AS r
        CROSS JOIN rules AS u
        WHERE r.shown <> 'amount'
        GROUP BY r.entry_id, r.subject
    ) AS alike
) AS likeliest
WHERE place <= (SELECT max_candidates FROM rules)
UNION
SELECT entry_id, subject
FROM shared_words
WHERE turn <= (SELECT max_candidates FROM rules)
UNION
SELECT k.entry_id, k.payer AS subject
FROM payer_keys AS k
JOIN open_parties AS o ON o.subject = k.payer
UNION
SELECT entry_id, subject
FROM (
    SELECT entry_id, subject, count(*) OVER (PARTITION BY entry_id) AS subjects
    FROM (
        SELECT r.entry_id, r.subject, count(*) AS payments,
            count(*) FILTER (WHERE r.apart <= u.usual_days OR r.apart >= 31 - u.usual_days) AS around_day
        FROM recalled_lessons AS r
        CROSS JOIN rules AS u
        WHERE r.shown = 'amount' AND substr(r.subject, 1, 2) = 'E:'
        GROUP BY r.entry_id, r.subject
    ) AS of_amount
    WHERE payments > 1 AND around_day > payments - around_day
) AS counted
WHERE subjects <= (SELECT max_candidates FROM rules)
