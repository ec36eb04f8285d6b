-- One row per name, in upper case and without accents and apostrophes (`spelled`). Two letters that replace an
-- accented one (AE, OE, UE, AA) become that letter without its accent: `MULLER` for Müller and Mueller.
SELECT d.name,
    replace(replace(replace(replace(
        CASE
            WHEN bit_length(d.name) = 8 * CAST(length(d.name) AS BIGINT) THEN replace(upper(d.name), '''', '')
            ELSE regexp_replace(translate(upper(replace(replace(d.name, 'ß', 'SS'), 'ẞ', 'SS')), f.accented, f.plain), '[\p{M}''’]+', '', 'g')
        END,
        'AE', 'A'), 'OE', 'O'), 'UE', 'U'), 'AA', 'A') AS spelled
FROM (
    SELECT counterparty_name AS name FROM lines
    UNION
    SELECT counterparty_name AS name FROM expectations
    UNION
    SELECT counterparty_name AS name FROM settled_lessons
    UNION
    SELECT owner_name AS name FROM settled_lessons
) AS d
CROSS JOIN name_folding AS f
WHERE d.name IS NOT NULL
