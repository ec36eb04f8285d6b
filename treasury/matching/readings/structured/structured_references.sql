-- One row per pair of a line and an expectation, if a structured reference in the line's text is or contains the
-- expectation's code, and the reference's check digits are valid. `is_own`: the code itself is the structured
-- reference.
--
-- The last two digits of an OGM are its first ten digits modulo 97, or 97 if the remainder is 0.
SELECT c.entry_id, c.expectation_id, c.code, bool_or(c.kind <> 'RF' OR regexp_matches(c.code, '^RF[0-9]{2}[A-Z0-9]{1,21}$')) AS is_own
FROM carried_codes AS c
WHERE (c.kind = 'RF' AND c.form IN (SELECT form FROM valid_rf_references))
    OR (c.kind = 'QRR' AND c.form IN (SELECT form FROM valid_qr_references))
    OR (c.kind = 'OGM' AND CAST(substr(c.form, 11, 2) AS BIGINT)
        = CASE CAST(substr(c.form, 1, 10) AS BIGINT) % 97 WHEN 0 THEN 97
            ELSE CAST(substr(c.form, 1, 10) AS BIGINT) % 97 END)
GROUP BY c.entry_id, c.expectation_id, c.code
