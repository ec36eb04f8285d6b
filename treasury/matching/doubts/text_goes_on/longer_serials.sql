-- One row per pair of a line that writes a code in another way (`respelled_codes`) and an expectation with a
-- longer code (question 1: does the text continue?). Lines that write several codes are excluded, because a
-- person decides them anyway. Leading zeros in groups of digits are ignored. One of these conditions holds:
-- - The text continues to the longer code, before or after the code that it writes.
-- - A field ends with the code, and the field's length is one at which banks cut off texts. The longer code
--   begins with the code. Of several such longer codes, only the first five in alphabetical order are included.
WITH texts_read AS (
    SELECT r.entry_id, r.code, r.serial, f.field, f.text,
        regexp_replace(f.text, '[^\p{L}\p{N}]+', '', 'g') AS letters,
        regexp_replace(regexp_replace(f.text, '(^|[^0-9])0+([0-9])', '\1\2', 'g'), '[^\p{L}\p{N}]+', '', 'g') AS serials_only
    FROM (
        SELECT entry_id, min(code) AS code, min(serial) AS serial
        FROM respelled_codes
        GROUP BY entry_id
        HAVING min(code) = max(code)
    ) AS r
    JOIN reference_fields AS f ON f.entry_id = r.entry_id
),
places AS (
    SELECT entry_id, code, serial, letters, unnest(generate_series(1, length(letters) - length(serial) + 1)) AS p
    FROM (
        SELECT entry_id, code, serial, letters FROM texts_read
        UNION
        SELECT entry_id, code, serial, serials_only AS letters FROM texts_read
    ) AS streams
    WHERE contains(letters, serial)
),
ends AS (
    SELECT t.entry_id, t.code, t.serial
    FROM texts_read AS t
    JOIN cut_lengths AS k
        ON k.length = length(t.text) OR 8 * CAST(k.length AS BIGINT) = bit_length(t.text)
        OR (k.is_most AND k.field = t.field AND length(t.text) >= k.length)
    WHERE right(t.serials_only, length(t.serial)) = t.serial
)
SELECT DISTINCT w.entry_id, s.expectation_id, s.code
FROM (
    SELECT h.entry_id, h.code, substr(h.letters, h.p, z.size) AS form
    FROM places AS h
    JOIN serial_lengths AS z ON z.size > length(h.serial)
    WHERE substr(h.letters, h.p, length(h.serial)) = h.serial
    UNION
    SELECT h.entry_id, h.code, substr(h.letters, h.p + length(h.serial) - z.size, z.size) AS form
    FROM places AS h
    JOIN serial_lengths AS z
        ON z.size > length(h.serial) AND h.p + length(h.serial) > z.size
    WHERE substr(h.letters, h.p, length(h.serial)) = h.serial
) AS w
JOIN code_serials AS s ON s.serial = w.form AND s.code <> w.code
UNION
SELECT DISTINCT e.entry_id, s.expectation_id, s.code
FROM ends AS e
JOIN (
    SELECT c.expectation_id, c.code, k.serial
    FROM code_serials AS c
    JOIN serial_lengths AS z ON z.size < length(c.serial)
    JOIN (SELECT DISTINCT serial FROM ends) AS k ON k.serial = substr(c.serial, 1, z.size)
    QUALIFY row_number() OVER (PARTITION BY k.serial ORDER BY c.code, c.expectation_id) <= 5
) AS s ON s.serial = e.serial
