-- The words that lessons say in their text or give as their name, and unplaced payments in their text; legal forms
-- left out.
SELECT DISTINCT is_lesson, is_name, entry_id, word
FROM (
    SELECT is_lesson, is_name, entry_id, unnest(string_split(regexp_replace(
        translate(upper(substr(said, 1, u.remittance_limit)), f.accented, f.plain), '[^\p{L}\p{N}]+', ' ', 'g'), ' ')) AS word
    FROM (
        SELECT TRUE AS is_lesson, FALSE AS is_name, entry_id, remittance AS said FROM lessons
        UNION ALL
        SELECT TRUE AS is_lesson, TRUE AS is_name, entry_id, counterparty_name AS said FROM lessons
        UNION ALL
        SELECT FALSE AS is_lesson, FALSE AS is_name, p.entry_id, p.remittance AS said
        FROM unplaced_payments AS p
        JOIN (
            SELECT currency, direction FROM lessons
            UNION
            SELECT currency, direction FROM open_expectations WHERE counterparty_name IS NOT NULL
        ) AS s ON s.currency = p.currency AND s.direction = p.direction
    ) AS texts
    CROSS JOIN rules AS u
    CROSS JOIN name_folding AS f
    WHERE said IS NOT NULL
) AS every_word
LEFT JOIN legal_forms AS g ON g.form = word
WHERE length(word) >= 4 AND g.form IS NULL
