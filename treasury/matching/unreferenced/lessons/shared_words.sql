-- Subjects with which an unplaced payment shares rare words, those with the most words first, and those words.
SELECT
    entry_id, subject, words, first_word, last_word, sole_word,
    row_number() OVER (PARTITION BY entry_id ORDER BY words DESC, subject) AS turn
FROM (
    SELECT
        p.entry_id, s.subject,
        count(*) AS words,
        min(s.word) AS first_word,
        max(s.word) AS last_word,
        min(CASE WHEN s.subjects = 1 AND s.payments > 1 AND length(s.word) >= u.min_code THEN s.word END) AS sole_word
    FROM (SELECT DISTINCT entry_id, word FROM stated_words WHERE NOT is_lesson) AS w
    JOIN unplaced_payments AS p ON p.entry_id = w.entry_id
    JOIN subject_words AS s
        ON s.word = w.word AND s.currency = p.currency AND s.direction = p.direction AND s.since < p.booking_date
    CROSS JOIN rules AS u
    WHERE s.subjects <= u.max_pool
    GROUP BY p.entry_id, s.subject
) AS shared
WHERE words > 1 OR sole_word IS NOT NULL
