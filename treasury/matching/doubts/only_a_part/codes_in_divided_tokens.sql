-- One row per pair of a line and an expectation, if a token of the line begins or ends with the expectation's
-- code (question 3: is it only a part?). The whole token is another, longer code, and the text divides the token
-- at a place where the longer code is not divided. For example, the text is `PAY-2026-00441/7`, and both
-- PAY-2026-00441 and PAY-2026-004417 are codes.
WITH long_codes AS (
    SELECT DISTINCT w.entry_id, w.code
    FROM whole_token_codes AS w
    SEMI JOIN code_parts AS p ON p.code = w.code
),
token_places AS (
    SELECT entry_id, token, unnest(generate_series(1, length(token))) AS p
    FROM (
        SELECT DISTINCT entry_id, token
        FROM (
            SELECT w.entry_id, unnest(string_split(w.words, ' ')) AS token
            FROM field_words AS w
            SEMI JOIN long_codes AS n ON n.entry_id = w.entry_id
        ) AS every_token
        WHERE regexp_matches(token, '[A-Z0-9][./-]+[A-Z0-9]')
    ) AS divided_ones
),
token_halves AS (
    SELECT t.entry_id, n.code,
        regexp_replace(substr(t.token, 1, t.p - 1), '[./-]+', '', 'g') AS head,
        regexp_replace(substr(t.token, t.p + 1), '[./-]+', '', 'g') AS tail
    FROM token_places AS t
    JOIN long_codes AS n ON n.entry_id = t.entry_id AND n.code = regexp_replace(t.token, '[./-]+', '', 'g')
    WHERE substr(t.token, t.p, 1) IN ('-', '.', '/')
),
written_heads AS (
    SELECT DISTINCT code, regexp_replace(substr(written, 1, p - 1), '[./-]+', '', 'g') AS head
    FROM (
        SELECT c.code, upper(e.code) AS written, unnest(generate_series(1, length(e.code))) AS p
        FROM known_codes AS c
        SEMI JOIN long_codes AS n ON n.code = c.code
        JOIN expectations AS e ON e.expectation_id = c.expectation_id
    ) AS places
    WHERE substr(written, p, 1) IN ('-', '.', '/')
)
SELECT DISTINCT h.entry_id, c.expectation_id, c.code
FROM (
    SELECT entry_id, code, head, head AS short FROM token_halves
    UNION
    SELECT entry_id, code, head, tail AS short FROM token_halves
) AS h
ANTI JOIN written_heads AS w ON w.code = h.code AND w.head = h.head
JOIN known_codes AS c ON c.code = h.short
WHERE length(h.short) < length(h.code)
