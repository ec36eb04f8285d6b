-- One row per combination of a line, a part of one of its tokens that is a known code, and an expectation with
-- this code. Slashes and dots divide a token into parts (`/RFB/PAY-2026-004417/INV`). The part has a letter, a
-- digit and at least `min_code` characters.
--
-- Tokens that are a code as a whole are excluded. A part that begins with a digit stays attached to the part
-- before it, so that `PAY-2026-0044` is not read from `PAY-2026-0044/17`.
SELECT s.entry_id, c.expectation_id, c.code
FROM (
    SELECT
        entry_id,
        unnest(string_split(
            replace(
                regexp_replace(regexp_replace(token, '[./]+([0-9])', '~\1', 'g'), '[./]+', ' ', 'g'), '-', ''
            ),
            ' '
        )) AS form
    FROM slashed_tokens AS t
    WHERE NOT EXISTS (
        SELECT 1 FROM known_codes AS w
        WHERE w.code = replace(replace(replace(t.token, '-', ''), '/', ''), '.', '')
    )
) AS s
JOIN known_codes AS c ON c.code = s.form
WHERE length(s.form) >= (SELECT min_code FROM rules)
    AND regexp_matches(s.form, '[A-Z]') AND regexp_matches(s.form, '[0-9]')
