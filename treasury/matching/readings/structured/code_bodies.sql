-- One row per expectation, with its code and the part of the code that a structured reference contains (`body`).
-- For a code that is an RF reference, the body is the part after the check digits (`539007547034` for
-- `RF18539007547034`). For any other code, the body is the code itself. Leading zeros are removed from the body,
-- because they do not change check digits. `carried_codes` decides whether they matter.
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
