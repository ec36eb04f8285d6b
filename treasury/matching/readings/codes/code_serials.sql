-- One row per expectation and code, with its serial: the code without signs, and without the zeros that begin a group
-- of digits ("INV-00125" becomes INV125).
SELECT c.expectation_id, c.code, upper(e.code) AS written_code,
    regexp_replace(regexp_replace(upper(e.code), '(^|[^0-9])0+([0-9])', '\1\2', 'g'), '[^\p{L}\p{N}]+', '', 'g') AS serial
FROM known_codes AS c
JOIN (
    SELECT expectation_id, code FROM expectations
    UNION
    SELECT expectation_id, written_code AS code FROM settled_requests
) AS e ON e.expectation_id = c.expectation_id
WHERE length(c.code) >= (SELECT min_code FROM rules) AND regexp_matches(c.code, '[0-9]')
