-- What connects an unplaced payment with a subject, fact by fact, with what completes the fact's words.
SELECT entry_id, subject,
    CASE WHEN is_account THEN 'account' ELSE 'name' END
        || CASE WHEN substr(subject, 1, 2) <> 'E:' THEN '_for' WHEN payments = of_all THEN '_only' ELSE '' END AS fact,
    CAST(NULL AS VARCHAR) AS detail
FROM habits
UNION ALL
SELECT entry_id, subject, 'mostly' AS fact, CAST(NULL AS VARCHAR) AS detail
FROM habits
WHERE payments < of_all AND 2 * payments > of_all
UNION ALL
SELECT entry_id, subject, CASE WHEN of_amount > 0 THEN 'amount_before' ELSE 'amount_usual' END AS fact,
    CAST(NULL AS VARCHAR) AS detail
FROM habits
WHERE of_amount > 0 OR (payments > 1
    AND 10 * CAST(amount AS DECIMAL(28, 8)) BETWEEN 9 * CAST(lowest AS DECIMAL(28, 8)) AND 11 * CAST(highest AS DECIMAL(28, 8)))
UNION ALL
SELECT entry_id, subject, 'day' AS fact,
    CAST(usual_day AS VARCHAR) || CASE WHEN usual_day IN (1, 21, 31) THEN 'st' WHEN usual_day IN (2, 22) THEN 'nd'
        WHEN usual_day IN (3, 23) THEN 'rd' ELSE 'th' END AS detail
FROM habits
WHERE payments > 1 AND 2 * around_day > payments
UNION ALL
SELECT k.entry_id, u.subject, 'text' AS fact, min(u.word) AS detail
FROM payer_keys AS k
JOIN said_words AS w ON w.entry_id = k.entry_id
JOIN usual_words AS u
    ON u.payer = k.payer AND u.word = w.word AND u.currency = k.currency AND u.direction = k.direction
    AND u.since < k.booking_date
WHERE NOT w.is_lesson AND NOT w.is_name
GROUP BY k.entry_id, u.subject
UNION ALL
SELECT p.entry_id, u.subject, 'text_alone' AS fact, min(u.word) AS detail
FROM unplaced_payments AS p
JOIN said_words AS w ON w.entry_id = p.entry_id
JOIN usual_words AS u
    ON u.word = w.word AND u.currency = p.currency AND u.direction = p.direction AND u.since < p.booking_date
WHERE NOT w.is_lesson AND u.payer IS NULL
GROUP BY p.entry_id, u.subject
UNION ALL
SELECT k.entry_id, k.payer AS subject, CASE WHEN k.is_account THEN 'account_given' ELSE 'name_given' END AS fact,
    CAST(NULL AS VARCHAR) AS detail
FROM payer_keys AS k
JOIN open_parties AS o ON o.subject = k.payer
