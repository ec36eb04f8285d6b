-- One row per line and code that a label proves: the label announces only this number, and neither the label nor the word
-- before it marks the number as another party's or the bank's.
WITH with_neighbours AS (
    SELECT entry_id, code, is_weak, behind,
        regexp_extract(before, '[^ ]*$', 0) AS word,
        regexp_extract(before, '([^ ]+) [|]$', 1) AS open_word
    FROM codes_behind_labels
)
SELECT DISTINCT w.entry_id, w.code
FROM with_neighbours AS w
LEFT JOIN label_neighbours AS a ON a.word = w.word
LEFT JOIN label_neighbours AS o ON o.word = w.open_word AND o.is_other
LEFT JOIN labels AS b ON b.label = w.open_word
LEFT JOIN labels AS c ON c.label = w.word
WHERE NOT coalesce(a.is_other, FALSE) AND o.word IS NULL AND b.label IS NULL
    AND (NOT w.is_weak OR w.word IN ('', '|') OR a.word IS NOT NULL OR c.label IS NOT NULL
        OR regexp_matches(w.word, '^[0-9]+$'))
    AND NOT (regexp_matches(w.behind, '^([|] )?[0-9]{3,}( |$)')
        AND NOT regexp_matches(w.behind, '^((19|20)[0-9]{2}((0?[1-9]|1[0-2])([0-3][0-9])?)?|(0?[1-9]|1[0-2])(19|20)[0-9]{2}) '))
