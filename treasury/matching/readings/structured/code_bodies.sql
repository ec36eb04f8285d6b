-- What a structured reference would carry of each code: of an RF reference what follows its check digits, of another
-- code the code; leading zeros, which change no check digits, left out.
SELECT
    expectation_id, code,
    CASE
        WHEN substr(code, 1, 2) = 'RF' OR substr(code, 1, 1) = '0'
            THEN regexp_replace(
                CASE WHEN regexp_matches(code, '^RF[0-9]{2}[A-Z0-9]{1,21}$') THEN substr(code, 5) ELSE code END,
                '^0+', '', 'g'
            )
        ELSE code
    END AS body
FROM known_codes
