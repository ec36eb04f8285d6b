-- One row per pair of a subject and a word in its earlier payments, by currency and direction, with the number
-- of these payments (`payments`), the day of the first one (`since`), and the number of subjects that have the
-- word (`subjects`). A word is excluded if more than `max_candidates` subjects and more than a fifth of all
-- subjects have it.
SELECT w.currency, w.direction, w.word, w.subject, w.payments, w.since, c.subjects
FROM (
    SELECT s.currency, s.direction, w.word, s.subject, count(*) AS payments, min(s.booking_date) AS since
    FROM lesson_subjects AS s
    JOIN (SELECT DISTINCT entry_id, word FROM stated_words WHERE is_lesson) AS w ON w.entry_id = s.entry_id
    GROUP BY s.currency, s.direction, w.word, s.subject
) AS w
JOIN (
    SELECT s.currency, s.direction, w.word, count(DISTINCT s.subject) AS subjects
    FROM lesson_subjects AS s
    JOIN stated_words AS w ON w.entry_id = s.entry_id
    WHERE w.is_lesson
    GROUP BY s.currency, s.direction, w.word
) AS c ON c.currency = w.currency AND c.direction = w.direction AND c.word = w.word
CROSS JOIN rules AS u
WHERE c.subjects <= u.max_candidates OR 5 * CAST(c.subjects AS BIGINT) <= (SELECT count(DISTINCT subject) FROM lesson_subjects)
