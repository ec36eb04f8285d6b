-- The words of each subject's lessons, in how many of them and since when, where they are rare: of few subjects.
SELECT
    currency, direction, word, subject, payments, since,
    count(*) OVER (PARTITION BY currency, direction, word) AS subjects
FROM (
    SELECT s.currency, s.direction, w.word, s.subject, count(*) AS payments, min(s.booking_date) AS since
    FROM subjects AS s
    JOIN (SELECT DISTINCT entry_id, word FROM said_words WHERE is_lesson) AS w ON w.entry_id = s.entry_id
    GROUP BY s.currency, s.direction, w.word, s.subject
) AS words
CROSS JOIN rules AS u
QUALIFY count(*) OVER (PARTITION BY currency, direction, word) <= u.max_same_code
