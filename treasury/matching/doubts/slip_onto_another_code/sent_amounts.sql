-- One row per line, code that its text is read as, and amount that it may have been sent as: its own, its own plus
-- the charges that it states, and its own plus each charge that a rule names.
SELECT entry_id, code, amount, currency, direction, booking_date FROM inexact_readings
UNION ALL
SELECT DISTINCT entry_id, code, CAST(amount + charge AS DECIMAL(38, 18)) AS amount, currency, direction, booking_date
FROM (
    SELECT *, charges AS charge FROM inexact_readings WHERE charges > 0
    UNION ALL
    SELECT r.*, c.charge FROM inexact_readings AS r CROSS JOIN usual_charges AS c
) AS with_charges
WHERE charge <> 0
