-- Is it a code at all? Codes that prove nothing by themselves: digits alone, letters alone, fewer than eight of both,
-- or what reads as an amount, a day, a VAT number or an IBAN.
SELECT code
FROM (SELECT DISTINCT code FROM inexact_pairs) AS c
WHERE length(code) < (SELECT min_segment FROM rules)
    OR regexp_matches(code, '^([0-9]+|[^0-9]+)$')
    OR regexp_matches(code, '^(EUR|USD|GBP|CHF|EURC|USDC)[0-9]+$')
    OR regexp_matches(code, '^[0-9]+(EUR|USD|GBP|CHF|EURC|USDC)$')
    OR regexp_matches(code, '^[0-9]{1,2}(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)[A-Z]*[0-9]{2,4}$')
    OR regexp_matches(code, '^(AD|AT|BE|BG|CH|CY|CZ|DE|DK|EE|EL|ES|FI|FR|GB|GR|HR|HU|IE|IS|IT|LI|LT|LU|LV|MC|MT|NL|NO|PL|PT|RO|SE|SI|SK|SM|XI)([0-9]{8,}|U[0-9]{8}|[0-9]{9}B[0-9]{2}|[0-9]{2}[A-Z]{4}[0-9]{7,})$')
