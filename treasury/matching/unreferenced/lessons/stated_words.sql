-- One row per word of a text: the remittance text of a payment in `unplaced_payments`, or the remittance text or
-- the counterparty's name of an earlier payment (`is_lesson`, `is_name`). The word has at least four characters
-- and is no legal form. Only the first `remittance_limit` characters of a text are read. A text of ASCII
-- characters is split directly, which takes a fraction of the time.
SELECT DISTINCT is_lesson, is_name, entry_id, word
FROM (
    SELECT is_lesson, is_name, entry_id, unnest(string_split(CASE
        WHEN bit_length(said) = 8 * CAST(length(said) AS BIGINT) THEN regexp_replace(said, '[^A-Z0-9]+', ' ', 'g')
        ELSE regexp_replace(translate(said, f.accented, f.plain), '[^\p{L}\p{N}]+', ' ', 'g')
    END, ' ')) AS word
    FROM (
        SELECT is_lesson, is_name, entry_id, upper(substr(text, 1, u.remittance_limit)) AS said
        FROM (
            SELECT TRUE AS is_lesson, FALSE AS is_name, entry_id, remittance AS text FROM payment_lessons
            UNION ALL
            SELECT TRUE AS is_lesson, TRUE AS is_name, entry_id, counterparty_name AS text FROM payment_lessons
            UNION ALL
            SELECT FALSE AS is_lesson, FALSE AS is_name, p.entry_id, p.remittance AS text
            FROM unplaced_payments AS p
            JOIN (
                SELECT currency, direction FROM payment_lessons
                UNION
                SELECT currency, direction FROM open_expectations WHERE counterparty_name IS NOT NULL
            ) AS s ON s.currency = p.currency AND s.direction = p.direction
        ) AS texts
        CROSS JOIN rules AS u
        WHERE text IS NOT NULL
    ) AS upper_texts
    CROSS JOIN name_folding AS f
) AS every_word
LEFT JOIN legal_forms AS g ON g.form = word
WHERE length(word) >= 4 AND g.form IS NULL
