-- One row per pair of a line and a code in its text, if a label in the text (such as INVOICE) proves that the
-- code is a reference. These conditions hold:
-- - No second number of three or more digits follows the code, unless it looks like a year, a month or a date.
-- - The word before the label does not mark the number as one of another party or of the bank, as in `CUSTOMER
--   REF 20004008` (rule `other_numbers`).
-- - If the label begins a phrase, the last word before this phrase does not mark it so either, and is not a
--   label itself.
-- - A label that banks use too (rule `weak_labels`) begins a phrase, or follows a number, another label or a
--   word such as YOUR (rule `label_openers`).
WITH with_neighbours AS (
    SELECT entry_id, code, is_weak, behind,
        regexp_extract(before, '[^ ]*$', 0) AS word,
        regexp_extract(before, '([^ ]+) [|]$', 1) AS open_word
    FROM codes_behind_labels
)
SELECT DISTINCT with_neighbour.entry_id, with_neighbour.code
FROM with_neighbours AS with_neighbour
LEFT JOIN label_neighbours AS neighbour ON neighbour.word = with_neighbour.word
LEFT JOIN label_neighbours AS other_neighbour ON other_neighbour.word = with_neighbour.open_word AND other_neighbour.is_other
LEFT JOIN labels AS label ON label.label = with_neighbour.open_word
LEFT JOIN labels AS other_label ON other_label.label = with_neighbour.word
WHERE NOT coalesce(neighbour.is_other, FALSE) AND other_neighbour.word IS NULL AND label.label IS NULL
    AND (NOT with_neighbour.is_weak OR with_neighbour.word IN ('',
        '|') OR neighbour.word IS NOT NULL OR other_label.label IS NOT NULL
        OR regexp_matches(with_neighbour.word, '^[0-9]+$'))
    AND NOT (regexp_matches(with_neighbour.behind, '^([|] )?[0-9]{3,}( |$)')
        AND NOT regexp_matches(with_neighbour.behind,
            '^((19|20)[0-9]{2}((0?[1-9]|1[0-2])([0-3][0-9])?)?|(0?[1-9]|1[0-2])(19|20)[0-9]{2}) '))
