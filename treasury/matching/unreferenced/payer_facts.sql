-- One row per combination of a payment in `unplaced_payments`, a subject (a counterparty or an expectation), and
-- a fact that connects them, such as an earlier payment of the same amount. `fact` is a row of
-- `ranked_facts.csv`; `detail` completes the fact's text.
SELECT entry_id, subject,
    shown || CASE WHEN substr(subject, 1, 2) <> 'E:' THEN '_for' WHEN payments = of_all THEN '_only' ELSE '' END AS fact,
    CAST(NULL AS VARCHAR) AS detail
FROM payer_habits
WHERE shown <> 'subject'
UNION ALL
SELECT entry_id, subject, 'mostly' AS fact, CAST(NULL AS VARCHAR) AS detail
FROM payer_habits
WHERE shown <> 'subject' AND payments < of_all AND payments > of_all - payments
UNION ALL
SELECT h.entry_id, h.subject,
    CASE WHEN h.of_amount > 0 THEN 'amount_before'
        WHEN h.near_amount <= h.payments - h.near_amount THEN 'amount_some'
        WHEN h.payments > 2 AND h.least = h.most THEN 'amount_off'
        WHEN p.amount BETWEEN h.least AND h.most THEN 'amount_within'
        ELSE 'amount_usual' END AS fact,
    CAST(NULL AS VARCHAR) AS detail
FROM payer_habits AS h
JOIN unplaced_payments AS p ON p.entry_id = h.entry_id
WHERE substr(h.subject, 1, 2) = 'E:'
    AND (h.of_amount > 0 OR h.near_amount > h.payments - h.near_amount OR h.near_amount > 1)
UNION ALL
SELECT entry_id, subject,
    CASE WHEN on_day = alike THEN 'day' WHEN on_day > alike - on_day THEN 'near_day' ELSE 'about_day' END
        || CASE alike WHEN 1 THEN '_once' ELSE '' END AS fact,
    CAST(last_day AS VARCHAR) || CASE WHEN last_day IN (1, 21, 31) THEN 'st' WHEN last_day IN (2, 22) THEN 'nd'
        WHEN last_day IN (3, 23) THEN 'rd' ELSE 'th' END
        || CASE WHEN alike < payments THEN ' at about this amount' ELSE '' END AS detail
FROM payer_habits
WHERE substr(subject, 1, 2) = 'E:' AND around_day > alike - around_day
UNION ALL
SELECT entry_id, subject, CASE subjects WHEN 1 THEN 'text' ELSE 'text_some' END AS fact, min(word) AS detail
FROM (
    SELECT considered.entry_id, considered.subject, stated_word.word, count(*) OVER (PARTITION BY considered.entry_id,
        stated_word.word) AS subjects
    FROM considered_subjects AS considered
    JOIN unplaced_payments AS payment ON payment.entry_id = considered.entry_id
    JOIN stated_words AS stated_word ON stated_word.entry_id = considered.entry_id
    JOIN subject_words AS subject_word
        ON subject_word.subject = considered.subject AND subject_word.word = stated_word.word
            AND subject_word.currency = payment.currency AND subject_word.direction = payment.direction
        AND subject_word.since < payment.booking_date
    WHERE NOT stated_word.is_lesson
) AS heard
GROUP BY entry_id, subject, subjects
UNION ALL
SELECT s.entry_id, s.subject, CASE WHEN s.sole_word IS NOT NULL THEN 'text_alone' ELSE 'text_shared' END AS fact,
    coalesce(s.sole_word, s.first_word || ' ' || s.last_word) AS detail
FROM shared_words AS s
CROSS JOIN rules AS u
WHERE s.turn <= u.max_candidates
UNION ALL
SELECT k.entry_id, k.payer AS subject, k.shown || '_given' AS fact, CAST(NULL AS VARCHAR) AS detail
FROM payer_keys AS k
JOIN open_parties AS o ON o.subject = k.payer
