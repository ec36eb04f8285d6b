-- One row per name, without case, accents, legal forms and word order (`folded`): `ALPHA TRADING` for "Trading
-- Alpha GmbH". A name without words other than legal forms has no row.
SELECT name, folded
FROM (
    SELECT s.name,
        array_to_string(list_sort(list_filter(
            string_split(regexp_replace(replace(s.spelled, '.', ''), '[^\p{L}\p{N}]+', ' ', 'g'), ' '),
            lambda w: w <> '' AND NOT list_contains(f.forms, w)
        )), ' ') AS folded
    FROM plain_names AS s
    CROSS JOIN name_folding AS f
) AS names
WHERE folded <> ''
