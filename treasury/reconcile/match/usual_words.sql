-- Words that at least two payments of one payer said for one subject, and none for another, since the first of them.
SELECT t.payer, t.currency, t.direction, w.word, min(t.subject) AS subject, min(t.booking_date) AS since
FROM taught AS t
JOIN said_words AS w ON w.entry_id = t.entry_id
CROSS JOIN rules AS u
WHERE w.is_lesson AND NOT w.is_name AND t.turn <= u.max_lessons AND t.shown <> 'amount'
GROUP BY t.payer, t.currency, t.direction, w.word
HAVING count(*) > 1 AND min(t.subject) = max(t.subject)
