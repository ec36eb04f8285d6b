-- One row per expectation and spelling of its code, with the `serial`: the code without punctuation and without
-- leading zeros in its groups of digits (`INV125` for `INV-00125`). Codes without a digit or with fewer than
-- `min_code` characters are excluded.
SELECT c.expectation_id, c.code, upper(e.code) AS written_code,
    regexp_replace(regexp_replace(upper(e.code), '(^|[^0-9])0+([0-9])', '\1\2', 'g'), '[^\p{L}\p{N}]+', '', 'g') AS serial
FROM known_codes AS c
JOIN (
    SELECT expectation_id, code FROM expectations
    UNION
    SELECT expectation_id, written_code AS code FROM settled_requests
) AS e ON e.expectation_id = c.expectation_id
WHERE length(c.code) >= (SELECT min_code FROM rules) AND regexp_matches(c.code, '[0-9]')
