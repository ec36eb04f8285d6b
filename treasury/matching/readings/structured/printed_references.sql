-- One row per pair of a line and a text in it that has the form of a structured reference, with the kind of the
-- reference. The kinds are the ones that the rule `structured` lists: RF (ISO 11649), the Swiss QR reference (QRR)
-- and the Belgian OGM. The check digits are not validated yet.
--
-- The text may be printed with spaces. It begins and ends where words do, within the first `max_text` characters
-- of a field. In an RF reference, a known code (`body` in `code_bodies`) follows the `RF`, the check digits and
-- leading zeros. In other references, it follows leading zeros. A code that the line names in full is included
-- if it has the form of a QR reference or an OGM.
WITH texts_looked_at AS (
    SELECT s.entry_id, k.kind, substr(s.spaced, 1, (SELECT max_text FROM rules)) AS spaced
    FROM spaced_fields AS s
    JOIN structured_kinds AS k
        ON (k.kind = 'RF' AND contains(s.text, 'RF'))
        OR (k.kind <> 'RF' AND regexp_matches(s.text, '[0-9]'))
),
beginnings_of_words AS (
    SELECT DISTINCT entry_id, kind, substr(spaced, p, 60) AS rest
    FROM (SELECT *, unnest(generate_series(1, length(spaced))) AS p FROM texts_looked_at) AS places
    WHERE (p = 1 OR substr(spaced, p - 1, 1) = ' ')
        AND CASE WHEN kind = 'RF' THEN regexp_matches(substr(spaced, p, 5), '^RF ?[0-9]')
            ELSE regexp_matches(substr(spaced, p, 1), '[0-9]') END
),
carrying AS (
    SELECT
        entry_id, kind, rest,
        regexp_replace(substr(replace(rest, ' ', ''), CASE kind WHEN 'RF' THEN 5 ELSE 1 END), '^0+', '', 'g') AS body
    FROM beginnings_of_words
),
of_a_code AS (
    SELECT DISTINCT c.entry_id, c.kind, c.rest
    FROM (
        SELECT c.entry_id, c.kind, c.rest, substr(c.body, 1, s.size) AS body
        FROM carrying AS c
        CROSS JOIN body_lengths AS s
        WHERE length(c.body) >= s.size
    ) AS c
    JOIN code_bodies AS b ON b.body = c.body
),
ends_of_words AS (
    SELECT entry_id, kind, rest, unnest(generate_series(1, length(rest))) AS n
    FROM of_a_code
)
SELECT DISTINCT entry_id, kind, form
FROM (
    SELECT entry_id, kind, replace(substr(rest, 1, n), ' ', '') AS form
    FROM ends_of_words
    WHERE n = length(rest) OR substr(rest, n + 1, 1) = ' '
) AS forms
WHERE (kind = 'RF' AND regexp_matches(form, '^RF[0-9]{2}[A-Z0-9]{1,21}$'))
    OR (kind = 'QRR' AND regexp_matches(form, '^[0-9]{27}$'))
    OR (kind = 'OGM' AND regexp_matches(form, '^[0-9]{12}$'))
UNION
SELECT w.entry_id, k.kind, w.code AS form
FROM named_expectations AS w
JOIN structured_kinds AS k
    ON (k.kind = 'QRR' AND regexp_matches(w.code, '^[0-9]{27}$')) OR (k.kind = 'OGM' AND regexp_matches(w.code, '^[0-9]{12}$'))
