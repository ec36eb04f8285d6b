-- "/RFB/PAY-2026-004417/INV": the parts of a token between slashes or dots, for tokens that are not a
-- code as they stand. A part before a digit stays glued to it, so that the first half of
-- "PAY-2026-0044/17" is never read as a code of its own.
SELECT s.entry_id, s.field, s.token, c.expectation_id, c.code
FROM (
    SELECT
        entry_id,
        field,
        token,
        regexp_replace(
            unnest(string_split(
                regexp_replace(regexp_replace(token, '[./]+([0-9])', '~\1', 'g'), '[./]+', ' ', 'g'), ' '
            )),
            '-+', '', 'g'
        ) AS form
    FROM tokens AS t
    WHERE (contains(token, '/') OR contains(token, '.'))
        AND NOT EXISTS (
            SELECT 1 FROM whole_tokens AS w
            WHERE w.entry_id = t.entry_id AND w.field = t.field AND w.token = t.token
        )
) AS s
JOIN codes AS c ON c.code = s.form
WHERE length(s.form) >= (SELECT min_segment FROM rules)
    AND regexp_matches(s.form, '[A-Z]') AND regexp_matches(s.form, '[0-9]')
