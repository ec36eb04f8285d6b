-- Tokens that are a code once their hyphens, dots and slashes are dropped.
SELECT t.entry_id, t.field, t.token, c.expectation_id, c.code
FROM (SELECT *, regexp_replace(token, '[./-]+', '', 'g') AS form FROM tokens) AS t
JOIN codes AS c ON c.code = t.form
