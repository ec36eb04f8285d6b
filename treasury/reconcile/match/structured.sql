-- Tier 3: structured references whose check digits hold. An OGM's last two digits are what the first ten leave
-- when divided by 97, or 97 for none.
SELECT DISTINCT c.entry_id, c.expectation_id, c.code
FROM carried AS c
WHERE (c.kind = 'RF' AND c.form IN (SELECT form FROM rf_checks))
    OR (c.kind = 'QRR' AND c.form IN (SELECT form FROM qr_checks))
    OR (c.kind = 'OGM' AND CAST(substr(c.form, 11, 2) AS BIGINT)
        = CASE CAST(substr(c.form, 1, 10) AS BIGINT) % 97 WHEN 0 THEN 97
            ELSE CAST(substr(c.form, 1, 10) AS BIGINT) % 97 END)
