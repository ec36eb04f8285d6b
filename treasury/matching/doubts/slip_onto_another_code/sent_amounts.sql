-- One row per combination of a line, a code found in its text (see `inexact_readings`), and an amount that its
-- payer may have sent: the line's amount, this amount plus the charges that the line states, and this amount
-- plus each charge in the rule `usual_charges`.
SELECT entry_id, code, amount, currency, direction, booking_date FROM inexact_readings
UNION ALL
SELECT DISTINCT entry_id, code, CAST(amount + charge AS DECIMAL(38, 18)) AS amount, currency, direction, booking_date
FROM (
    SELECT *, charges AS charge FROM inexact_readings WHERE charges > 0
    UNION ALL
    SELECT r.*, c.charge FROM inexact_readings AS r CROSS JOIN usual_charges AS c
) AS with_charges
WHERE charge <> 0
