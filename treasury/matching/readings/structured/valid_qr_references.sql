-- One row per Swiss QR reference in `carried_codes` with a valid check digit (modulo 10, recursive). The
-- calculation begins with the carry 0. A fixed table maps each carry and digit to the next carry, and the last
-- carry must be 0.
--
-- For every three digits of the reference, a text of ten digits is composed. It maps a carry before these digits
-- to the carry after them. Nine such texts cover the 27 digits.
SELECT form
FROM (
    SELECT
        form,
        max(CASE WHEN i = 0 THEN walk END) AS a, max(CASE WHEN i = 1 THEN walk END) AS b,
        max(CASE WHEN i = 2 THEN walk END) AS c, max(CASE WHEN i = 3 THEN walk END) AS d,
        max(CASE WHEN i = 4 THEN walk END) AS e, max(CASE WHEN i = 5 THEN walk END) AS f,
        max(CASE WHEN i = 6 THEN walk END) AS g, max(CASE WHEN i = 7 THEN walk END) AS h,
        max(CASE WHEN i = 8 THEN walk END) AS k
    FROM (
        SELECT
            form,
            i,
            translate(
                translate(
                    substr('09468271350946827135', CAST(substr(form, 3 * CAST(i AS INTEGER) + 1, 1) AS INTEGER) + 1, 10),
                    '0123456789',
                    substr('09468271350946827135', CAST(substr(form, 3 * CAST(i AS INTEGER) + 2, 1) AS INTEGER) + 1, 10)
                ),
                '0123456789',
                substr('09468271350946827135', CAST(substr(form, 3 * CAST(i AS INTEGER) + 3, 1) AS INTEGER) + 1, 10)
            ) AS walk
        FROM (
            SELECT form, unnest(generate_series(0, 8)) AS i
            FROM (SELECT DISTINCT form FROM carried_codes WHERE kind = 'QRR') AS forms
        ) AS threes
    ) AS walks
    GROUP BY form
) AS whole
WHERE translate(translate(translate(translate(translate(translate(translate(translate(
    substr(a, 1, 1), '0123456789', b), '0123456789', c), '0123456789', d), '0123456789', e),
    '0123456789', f), '0123456789', g), '0123456789', h), '0123456789', k) = '0'
