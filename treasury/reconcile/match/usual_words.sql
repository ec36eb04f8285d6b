-- Words that at least two payments for one subject said and none for another: of one payer's in their text, and of
-- everybody's in text or name, where they are long enough to be rare. `since` is the day of the first.
SELECT t.payer, t.currency, t.direction, w.word, min(t.subject) AS subject, min(t.booking_date) AS since
FROM taught AS t
JOIN said_words AS w ON w.entry_id = t.entry_id
CROSS JOIN rules AS u
WHERE w.is_lesson AND NOT w.is_name AND t.turn <= u.max_lessons
GROUP BY t.payer, t.currency, t.direction, w.word
HAVING count(*) > 1 AND min(t.subject) = max(t.subject)
UNION ALL
SELECT CAST(NULL AS VARCHAR) AS payer, s.currency, s.direction, w.word, min(s.subject) AS subject, min(s.booking_date) AS since
FROM subjects AS s
JOIN (SELECT DISTINCT entry_id, word FROM said_words WHERE is_lesson) AS w ON w.entry_id = s.entry_id
CROSS JOIN rules AS u
WHERE length(w.word) >= u.min_code
GROUP BY s.currency, s.direction, w.word
HAVING count(*) > 1 AND min(s.subject) = max(s.subject)
