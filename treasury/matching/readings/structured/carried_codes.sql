-- One row per combination of a line, a structured reference in its text, and an expectation with this reference
-- as its code. An RF reference may also contain the code: the code, of at least `min_segment` characters, is
-- everything after the check digits.
--
-- Leading zeros after the check digits are ignored if the code is an RF reference itself, because they do not
-- change its check digits. All other leading zeros are significant.
SELECT DISTINCT p.entry_id, p.kind, p.form, c.expectation_id, c.code
FROM (
    SELECT
        entry_id, kind, form,
        regexp_replace(CASE kind WHEN 'RF' THEN substr(form, 5) ELSE form END, '^0+', '', 'g') AS body
    FROM printed_references
) AS p
JOIN code_bodies AS c ON c.body = p.body
WHERE (p.kind <> 'RF' AND c.code = p.form)
    OR (p.kind = 'RF' AND regexp_matches(c.code, '^RF[0-9]{2}[A-Z0-9]{1,21}$')
        AND substr(c.code, 1, 4) = substr(p.form, 1, 4))
    OR (p.kind = 'RF' AND NOT regexp_matches(c.code, '^RF[0-9]{2}[A-Z0-9]{1,21}$')
        AND c.code = substr(p.form, 5) AND length(c.code) >= (SELECT min_segment FROM rules))
