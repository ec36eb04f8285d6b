-- One row per pair of a line and an expectation, if a token of the line has the same letters and digits as the
-- expectation's code, but its punctuation divides the digits into other groups (question 3: is it only a part?).
-- FV/11/2/2026 is not FV/1/12/2026. A token that only adds or only omits punctuation is excluded, and so is a
-- line in which the code is also written correctly.
WITH unlike AS (
    SELECT w.entry_id, w.code, w.expectation_id, upper(min(e.code)) AS written
    FROM whole_token_codes AS w
    JOIN expectations AS e ON e.expectation_id = w.expectation_id
    JOIN reference_fields AS f ON f.entry_id = w.entry_id
    WHERE regexp_matches(e.code, '[0-9][^\p{L}\p{N}]+[0-9]')
    GROUP BY w.entry_id, w.code, w.expectation_id
    HAVING NOT bool_or(contains(f.text, upper(e.code)))
),
token_places AS (
    SELECT t.entry_id, u.code, u.expectation_id, t.token, unnest(generate_series(2, length(t.token) - 1)) AS p
    FROM (
        SELECT DISTINCT w.entry_id, unnest(string_split(w.words, ' ')) AS token
        FROM field_words AS w
        SEMI JOIN unlike AS n ON n.entry_id = w.entry_id
    ) AS t
    JOIN unlike AS u ON u.entry_id = t.entry_id AND u.code = regexp_replace(t.token, '[./-]+', '', 'g')
),
token_heads AS (
    SELECT DISTINCT entry_id, code, expectation_id, regexp_replace(substr(token, 1, p), '[./-]+', '', 'g') AS head
    FROM token_places
    WHERE regexp_matches(substr(token, p - 1, 3), '[0-9][./-][0-9]')
),
written_heads AS (
    SELECT DISTINCT entry_id, code, expectation_id, regexp_replace(substr(written, 1, p), '[^\p{L}\p{N}]+', '', 'g') AS head
    FROM (
        SELECT entry_id, code, expectation_id, written, unnest(generate_series(2, length(written) - 1)) AS p
        FROM unlike
    ) AS places
    WHERE regexp_matches(substr(written, p - 1, 3), '[0-9][^\p{L}\p{N}][0-9]')
)
SELECT DISTINCT m.entry_id, m.code, m.expectation_id
FROM (
    SELECT t.entry_id, t.code, t.expectation_id
    FROM token_heads AS t
    ANTI JOIN written_heads AS c
        ON c.entry_id = t.entry_id AND c.code = t.code AND c.expectation_id = t.expectation_id AND c.head = t.head
) AS m
JOIN (
    SELECT c.entry_id, c.code, c.expectation_id
    FROM written_heads AS c
    ANTI JOIN token_heads AS t
        ON t.entry_id = c.entry_id AND t.code = c.code AND t.expectation_id = c.expectation_id AND t.head = c.head
) AS n ON n.entry_id = m.entry_id AND n.code = m.code AND n.expectation_id = m.expectation_id
