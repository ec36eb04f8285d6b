-- Each name and what is left of it without case, accents, legal forms and the order of its words; none where nothing is.
SELECT name, folded
FROM (
    SELECT d.name,
        array_to_string(list_sort(list_filter(
            string_split(regexp_replace(replace(replace(replace(replace(replace(
                regexp_replace(translate(upper(replace(replace(d.name, 'ß', 'SS'), 'ẞ', 'SS')), f.accented, f.plain), '\p{M}+', '', 'g'),
                '.', ''), '''', ''), 'AE', 'A'), 'OE', 'O'), 'UE', 'U'), '[^\p{L}\p{N}]+', ' ', 'g'), ' '),
            w -> w <> '' AND NOT list_contains(f.forms, w)
        )), ' ') AS folded
    FROM (
        SELECT counterparty_name AS name FROM unplaced_payments
        UNION
        SELECT counterparty_name AS name FROM lessons
        UNION
        SELECT owner_name AS name FROM lessons
        UNION
        SELECT o.counterparty_name AS name
        FROM open_expectations AS o
        JOIN (SELECT DISTINCT currency, direction FROM unplaced_payments) AS u
            ON u.currency = o.currency AND u.direction = o.direction
    ) AS d
    CROSS JOIN name_folding AS f
    WHERE d.name IS NOT NULL
) AS names
WHERE folded <> ''
