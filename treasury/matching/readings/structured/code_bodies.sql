-- One row per expectation and code, with its body: the part that a structured reference contains. The body of
-- an RF reference is the part after its check digits; any other code is its own body. Leading zeros are
-- removed, because they do not change check digits.
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
