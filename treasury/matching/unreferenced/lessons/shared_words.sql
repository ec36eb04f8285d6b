-- One row per pair of a payment in `unplaced_payments` and a subject that have at least two rare words in
-- common, or one word that only this subject has. At most `max_pool` subjects have a rare word. A word that only
-- this subject has counts alone if it has at least `min_code` characters and is in several payments of the
-- subject. `turn` numbers the subjects of a payment, those with the most words first.
SELECT
    entry_id, subject, words, first_word, last_word, sole_word,
    row_number() OVER (PARTITION BY entry_id ORDER BY words DESC, subject) AS turn
FROM (
    SELECT
        payment.entry_id, subject_word.subject,
        count(*) AS words,
        min(subject_word.word) AS first_word,
        max(subject_word.word) AS last_word,
        min(CASE WHEN subject_word.subjects = 1 AND subject_word.payments > 1
            AND length(subject_word.word) >= rule.min_code THEN subject_word.word END) AS sole_word
    FROM (SELECT DISTINCT entry_id, word FROM stated_words WHERE NOT is_lesson) AS stated_word
    JOIN unplaced_payments AS payment ON payment.entry_id = stated_word.entry_id
    JOIN subject_words AS subject_word
        ON subject_word.word = stated_word.word AND subject_word.currency = payment.currency
            AND subject_word.direction = payment.direction AND subject_word.since < payment.booking_date
    CROSS JOIN rules AS rule
    WHERE subject_word.subjects <= rule.max_pool
    GROUP BY payment.entry_id, subject_word.subject
) AS shared
WHERE words > 1 OR sole_word IS NOT NULL
